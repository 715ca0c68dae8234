/** Consumers by class: admitted of wanted, what one is worth against what it costs. */
import { useState } from "react";

import { outcomeOfRow, tally, type Outcome } from "./outcome";

import type { ClassPopulation } from "@/api/allocations";
import { AdmissionBar } from "@/components/ui/bars";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Icon, type IconName } from "@/components/ui/icons";
import { FindField, PageFoot, usePaged } from "@/components/ui/paged";
import { Segments } from "@/components/ui/page";
import { Empty, Panel } from "@/components/ui/panel";
import { Badge, type Tone } from "@/components/ui/state-badge";
import { Delta } from "@/components/ui/unit-number";
import { download, toCsv } from "@/lib/csv";
import { countText, fixed, significant, UNKNOWN } from "@/lib/numbers";

/** What fits beside the side column; the rest is one click away. */
const FIRST = 30;

const LOOKS: Record<Outcome, { tone: Tone; icon: IconName; word: string }> = {
  all: { tone: "good", icon: "check", word: "All in" },
  part: { tone: "warn", icon: "half", word: "In part" },
  refused: { tone: "idle", icon: "ban", word: "Refused" },
};

/** Where nothing is scarce the price is next to nothing, and a ratio to it says nothing. */
const LARGEST_RATIO = 1000;

function valueOverPrice(value: number, price: number): string {
  if (price <= 0) return UNKNOWN;
  const ratio = value / price;
  return ratio > LARGEST_RATIO ? `> ${fixed(LARGEST_RATIO)}` : fixed(ratio, 2);
}

export function OutcomeBadge({ outcome }: { outcome: Outcome }) {
  const look = LOOKS[outcome];
  return (
    <Badge tone={look.tone} icon={look.icon}>
      {look.word}
    </Badge>
  );
}

/** Long names give way to the numbers; the whole name is in the tooltip. */
function Name({ text, strong = false }: { text: string; strong?: boolean }) {
  return (
    <div className={strong ? "name ent" : "name"} title={text}>
      {text}
    </div>
  );
}

const rank = (scale: number) => (Number.isInteger(scale) ? fixed(scale) : significant(scale, 3));

export function ClassesPanel({
  name,
  rows,
  count,
  former,
  selected,
  onSelect,
}: {
  name: string;
  rows: readonly ClassPopulation[];
  count: number;
  former: ReadonlyMap<string, number | null>;
  selected: string | null;
  onSelect: (row: ClassPopulation) => void;
}) {
  const [filter, setFilter] = useState<"every" | Outcome>("every");
  const [sought, setSought] = useState("");
  const counts = tally(rows);
  const wanted = sought.trim().toLowerCase();
  const shown = rows.filter(
    (row) =>
      (filter === "every" || outcomeOfRow(row) === filter) &&
      (wanted === "" ||
        `${row.consumer_class} ${row.flow} ${row.node}`.toLowerCase().includes(wanted)),
  );
  const paged = usePaged(shown, FIRST, `${filter} ${wanted}`);
  const { visible } = paged;
  const compared = former.size > 0;
  // Where class names begin with their flow, a column of flows would only repeat them.
  const named = rows.length > 0 && rows.every((row) => row.consumer_class.startsWith(row.flow));
  const change = (row: ClassPopulation) => {
    const before = former.get(row.consumer_class);
    return before === undefined || before === null ? null : row.admitted - before;
  };
  const columns: Column<ClassPopulation>[] = [
    { key: "rank", title: "Rank", number: true, cell: (row) => rank(row.scale) },
    { key: "class", title: "Class", cell: (row) => <Name text={row.consumer_class} strong /> },
    ...(named
      ? []
      : [{ key: "flow", title: "Flow", cell: (row: ClassPopulation) => <Name text={row.flow} /> }]),
    { key: "node", title: "Node", cell: (row) => row.node },
    {
      key: "admitted",
      title: "Admitted",
      number: true,
      strong: true,
      cell: (row) => fixed(row.admitted),
    },
    {
      key: "wanted",
      title: "Wanted",
      number: true,
      cell: (row) => <span className="faint">{fixed(row.wanted)}</span>,
    },
    {
      key: "bar",
      title: "",
      cell: (row) => (
        <AdmissionBar admitted={row.admitted} wanted={row.wanted} width={compared ? 72 : 104} />
      ),
    },
    {
      key: "ratio",
      title: "Value / price",
      number: true,
      cell: (row) => valueOverPrice(row.value_of_one, row.price_of_one),
    },
    { key: "utility", title: "Utility", number: true, cell: (row) => fixed(row.utility) },
    {
      key: "outcome",
      title: "Outcome",
      cell: (row) => <OutcomeBadge outcome={outcomeOfRow(row)} />,
    },
    ...(compared
      ? [
          {
            key: "change",
            title: "Change",
            number: true,
            cell: (row: ClassPopulation) => <Delta value={change(row)} />,
          },
        ]
      : []),
  ];
  const sum = (value: (row: ClassPopulation) => number) =>
    shown.reduce((total, row) => total + value(row), 0);
  const save = () =>
    download(
      `${name} classes.csv`,
      toCsv(
        [
          "class",
          "flow",
          "node",
          "rank",
          "admitted",
          "wanted",
          "value_of_one",
          "price_of_one",
          "utility",
        ],
        rows.map((row) => [
          row.consumer_class,
          row.flow,
          row.node,
          row.scale,
          row.admitted,
          row.wanted,
          row.value_of_one,
          row.price_of_one,
          row.utility,
        ]),
      ),
    );
  return (
    <Panel
      title="Consumers by class"
      sub={`${countText(count, "class", "classes")}, highest rank first`}
      right={
        <>
          {rows.length > FIRST ? (
            <FindField label="Find class, flow, node" value={sought} onChange={setSought} />
          ) : null}
          <Segments
            label="Outcome"
            value={filter}
            onChange={setFilter}
            options={[
              { value: "every", label: `All ${fixed(rows.length)}` },
              { value: "part", label: `In part ${fixed(counts.part)}` },
              { value: "refused", label: `Refused ${fixed(counts.refused)}` },
            ]}
          />
          <button type="button" className="btn sm" onClick={save}>
            <Icon name="download" small />
            CSV
          </button>
        </>
      }
      flush
      footer={
        paged.open || paged.close || count > rows.length ? (
          <>
            <PageFoot paged={paged} what="classes" />
            {count > rows.length ? (
              <div>
                Only the first {fixed(rows.length)} of {fixed(count)} classes are read here; the API
                has all of them.
              </div>
            ) : null}
          </>
        ) : undefined
      }
    >
      {shown.length === 0 ? (
        <Empty>
          {rows.length === 0
            ? "The problem has no consumer classes."
            : wanted === ""
              ? "No class has this outcome."
              : `No class, flow or node has "${sought.trim()}" in its name.`}
        </Empty>
      ) : (
        <DataTable
          label="Consumers by class"
          columns={columns}
          rows={visible}
          rowKey={(row) => row.consumer_class}
          selected={selected}
          onSelect={onSelect}
          keys
          foot={
            <tr>
              <td />
              <td colSpan={named ? 2 : 3}>Total</td>
              <td className="n">{fixed(sum((row) => row.admitted))}</td>
              <td className="n">{fixed(sum((row) => row.wanted))}</td>
              <td />
              <td />
              <td className="n">{fixed(sum((row) => row.utility))}</td>
              <td />
              {compared ? (
                <td className="n">
                  <Delta value={sum((row) => change(row) ?? 0)} />
                </td>
              ) : null}
            </tr>
          }
        />
      )}
    </Panel>
  );
}
