/** The parts of the topic's bucket that are in force, with what brokers measure of them. */
import { useQuery } from "@tanstack/react-query";

import { delay } from "./sentences";

import { partsQuery, type Part, type PlacementDetail } from "@/api/placements";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Panel, QueryBody } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { countText, fixed, percentText, rateText, UNKNOWN } from "@/lib/numbers";

const unknown = <span className="faint">{UNKNOWN}</span>;

function Mode({ part }: { part: Part }) {
  if (part.rate_per_s === 0)
    return (
      <Badge tone="idle" icon="ban" title="Nothing of the topic may enter here.">
        closed
      </Badge>
    );
  return part.mode === "count" ? (
    <Badge tone="waits" icon="hourglass" title="What exceeds the part passes, and is counted.">
      only counted
    </Badge>
  ) : (
    <Badge tone="good" icon="check" title="What exceeds the part waits.">
      enforced
    </Badge>
  );
}

/** What a part would hold, of what came since it is counted. */
function WouldHold({ part: { messages, held } }: { part: Part }) {
  if (messages === null || held === null) return unknown;
  const share = messages === 0 ? 0 : held / messages;
  return (
    <span title={`${fixed(held)} of ${countText(messages, "message")}`}>
      {percentText(share, 2)}
    </span>
  );
}

const COLUMNS: Column<Part>[] = [
  { key: "broker", title: "Broker", cell: (row) => <span className="ent">{row.broker}</span> },
  { key: "mode", title: "State", cell: (row) => <Mode part={row} /> },
  {
    key: "rate",
    title: "r",
    unit: "tokens/s",
    number: true,
    cell: (row) => (row.rate_per_s === 0 ? unknown : rateText(row.rate_per_s)),
  },
  {
    key: "size",
    title: "b",
    unit: "tokens",
    number: true,
    cell: (row) => (row.rate_per_s === 0 ? unknown : fixed(row.size, row.size >= 1000 ? 0 : 2)),
  },
  {
    key: "passes",
    title: "Passes",
    unit: "msg/s",
    number: true,
    cell: (row) =>
      row.passed_per_s === null
        ? unknown
        : row.passed_per_s === 0
          ? "0"
          : rateText(row.passed_per_s),
  },
  {
    key: "waiting",
    title: "Waiting",
    unit: "msg",
    number: true,
    cell: (row) => (row.waiting === null ? unknown : fixed(row.waiting)),
  },
  {
    key: "held",
    title: "Would hold",
    number: true,
    cell: (row) => <WouldHold part={row} />,
  },
  {
    key: "p99",
    title: "p99 wait",
    number: true,
    strong: true,
    cell: (row) => (row.p99_s === null ? unknown : delay(row.p99_s)),
  },
  {
    key: "longest",
    title: "Longest",
    number: true,
    cell: (row) => (row.longest_s === null ? unknown : delay(row.longest_s)),
  },
];

/** Nothing at all while the topic's bucket is not split. */
export function PartsPanel({ placement }: { placement: PlacementDetail }) {
  const parts = useQuery(partsQuery(placement.id));
  if (parts.data?.length === 0) return null;
  return (
    <Panel
      title="In force at brokers"
      sub={`parts of the bucket of ${placement.topic_name}, measured live`}
      flush
    >
      <QueryBody query={parts} what="What is in force" rows={2}>
        {(rows) => (
          <DataTable
            label="Parts in force"
            columns={COLUMNS}
            rows={rows}
            rowKey={(row) => row.broker}
          />
        )}
      </QueryBody>
    </Panel>
  );
}
