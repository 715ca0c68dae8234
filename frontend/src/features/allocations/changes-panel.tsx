/** The diff against another allocation: what moved, the largest first, and what made it move. */
import { useState } from "react";

import { causeList } from "./causes";

import type { Comparison } from "@/api/allocations";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Segments } from "@/components/ui/page";
import { Empty, Panel } from "@/components/ui/panel";
import { Delta } from "@/components/ui/unit-number";
import {
  countText,
  fixed,
  priceDecimals,
  rateChange,
  rateText,
  relativeChange,
  signed,
  UNKNOWN,
} from "@/lib/numbers";

type Change = Comparison["changes"][number];
type Shown = "every" | "rate" | "admitted" | "price";

const FIRST = 8;
const MORE = 100;
const CAUSES = 6;

const isPrice = (change: Change) => change.kind === "node_price" || change.kind === "link_price";

const what = ({ kind, name, detail }: Change): string => {
  if (kind === "rate") return `Rate of ${name}`;
  if (kind === "admitted") return `Admitted of ${name}`;
  return kind === "node_price" ? `Price of ${detail} at ${name}` : `Price of link ${name}`;
};

const UNITS: Record<Change["kind"], string> = {
  rate: "msg/s",
  admitted: "",
  node_price: "utility/unit",
  link_price: "utility/unit",
};

function amountText(change: Change, value: number | null): string {
  if (value === null) return UNKNOWN;
  if (change.kind === "rate") return rateText(value);
  if (change.kind === "admitted") return fixed(value);
  return fixed(value, priceDecimals([change.before, change.after]));
}

function moved(change: Change): React.ReactNode {
  const { kind, before, after } = change;
  if (before === null) return "came";
  if (after === null) return "went";
  if (kind === "rate") return rateChange(after, before);
  if (kind === "admitted") return <Delta value={after - before} />;
  return signed(after - before, priceDecimals([before, after]));
}

function columnsOf(comparison: Comparison, number: number): Column<Change>[] {
  const value = (side: "before" | "after") =>
    function Amount(change: Change) {
      return (
        <span className="nowrap">
          {amountText(change, change[side])}
          {UNITS[change.kind] ? <span className="u">{UNITS[change.kind]}</span> : null}
        </span>
      );
    };
  return [
    { key: "what", title: "Quantity", cell: (row) => <span title={row.detail}>{what(row)}</span> },
    { key: "before", title: `A-${comparison.other_number}`, number: true, cell: value("before") },
    { key: "after", title: `A-${number}`, number: true, strong: true, cell: value("after") },
    { key: "change", title: "Change", number: true, cell: moved },
    {
      key: "share",
      title: "Relative",
      number: true,
      cell: (row) => relativeChange(row.after, row.before),
    },
  ];
}

function Causes({ comparison, method }: { comparison: Comparison; method: string }) {
  const [all, setAll] = useState(false);
  const causes = causeList(comparison, method);
  const shown = all ? causes : causes.slice(0, CAUSES);
  return (
    <>
      {shown.map((sentence, index) => (
        <div key={sentence}>
          {index === 0 ? <b>Cause: </b> : null}
          {sentence}
        </div>
      ))}
      {shown.length < causes.length ? (
        <button type="button" className="link" onClick={() => setAll(true)}>
          Show all {countText(causes.length, "cause")}
        </button>
      ) : null}
    </>
  );
}

export function ChangesPanel({
  comparison,
  number,
  method,
}: {
  comparison: Comparison;
  /** Of the allocation that one looks at. */
  number: number;
  method: string;
}) {
  const [picked, setPicked] = useState<Shown>("every");
  const [most, setMost] = useState(FIRST);
  const counts = comparison.changes_in_all;
  const inAll: Record<Shown, number> = {
    every: counts.rate + counts.admitted + counts.node_price + counts.link_price,
    rate: counts.rate,
    admitted: counts.admitted,
    price: counts.node_price + counts.link_price,
  };
  if (inAll.every === 0) return null;
  const rows = comparison.changes.filter(
    (change) =>
      picked === "every" || (picked === "price" ? isPrice(change) : change.kind === picked),
  );
  const visible = rows.slice(0, most);
  const pick = (next: Shown) => {
    setPicked(next);
    setMost(FIRST);
  };
  return (
    <Panel
      title={`What changed since A-${comparison.other_number}`}
      sub="by how much of itself, largest first"
      className="wraphead"
      right={
        <Segments
          label="Quantities"
          value={picked}
          onChange={pick}
          options={[
            { value: "every", label: `All ${fixed(inAll.every)}` },
            { value: "rate", label: `Rates ${fixed(inAll.rate)}` },
            { value: "admitted", label: `Admitted ${fixed(inAll.admitted)}` },
            { value: "price", label: `Prices ${fixed(inAll.price)}` },
          ]}
        />
      }
      flush
      footer={
        <>
          {visible.length < inAll[picked] ? (
            <div>
              {fixed(visible.length)} of {fixed(inAll[picked])}.{" "}
              {visible.length < rows.length ? (
                <button type="button" className="link" onClick={() => setMost(most + MORE)}>
                  Show {fixed(Math.min(MORE, rows.length - visible.length))} more
                </button>
              ) : (
                "Smaller changes are in the tables above."
              )}
            </div>
          ) : null}
          <Causes comparison={comparison} method={method} />
        </>
      }
    >
      {visible.length === 0 ? (
        <Empty>None of these changed.</Empty>
      ) : (
        <DataTable
          label={`What changed since A-${comparison.other_number}`}
          columns={columnsOf(comparison, number)}
          rows={visible}
          rowKey={(row) => `${row.kind} ${row.name} ${row.detail}`}
        />
      )}
    </Panel>
  );
}
