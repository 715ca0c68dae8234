/** The parts of the topic's bucket that are in force, with what brokers measure of them. */
import { useQuery } from "@tanstack/react-query";

import { delay } from "./sentences";

import { partsQuery, type Part, type Parts, type PlacementDetail } from "@/api/placements";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
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

const SLACK = 1e-9;

const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);

/** Whether the enforced parts let through more than the model's contract, which was edited since. */
function isAbove({ results, token_rate_per_s: rate, bucket }: Parts): boolean {
  const enforced = results.filter(({ mode }) => mode === "enforce");
  const most = (limit: number | null) => (limit ?? 0) * (1 + SLACK);
  return (
    sum(enforced.map((part) => part.rate_per_s)) > most(rate) ||
    sum(enforced.map(({ size }) => size)) > most(bucket)
  );
}

function Above({ parts: { results, token_rate_per_s: rate, bucket } }: { parts: Parts }) {
  const all = results.filter(({ mode }) => mode === "enforce");
  return (
    <span className="worse">
      <Icon name="alert" small /> The parts add up to{" "}
      {rateText(sum(all.map((part) => part.rate_per_s)))} tokens/s and{" "}
      {fixed(sum(all.map(({ size }) => size)), 2)} tokens.{" "}
      {rate === null || bucket === null
        ? "The topic has no token bucket any more: bring the model into force, which ends them."
        : `The topic\u2019s bucket is ${rateText(rate)} tokens/s and ${fixed(bucket)} tokens by now: place it again.`}
    </span>
  );
}

/** Nothing at all while the topic's bucket is not split. */
export function PartsPanel({ placement }: { placement: PlacementDetail }) {
  const parts = useQuery(partsQuery(placement.id));
  // Most topics are not split: nothing is there before it is known that there is something.
  if (parts.isPending || parts.data?.results.length === 0) return null;
  return (
    <Panel
      title="In force at brokers"
      sub={`parts of the bucket of ${placement.topic_name}, measured live`}
      flush
      footer={parts.data && isAbove(parts.data) ? <Above parts={parts.data} /> : undefined}
    >
      <QueryBody query={parts} what="What is in force" rows={2}>
        {(data) => (
          <DataTable
            label="Parts in force"
            columns={COLUMNS}
            rows={data.results}
            rowKey={(row) => row.broker}
          />
        )}
      </QueryBody>
    </Panel>
  );
}
