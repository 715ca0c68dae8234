/** Flows that change their stream live now, or did in the last minute, as agents report them. */
import { useHandOvers, type HandOver, type HandOvers } from "@/api/mappings";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Note } from "@/components/ui/dialogs";
import { Empty, Panel } from "@/components/ui/panel";
import { StateBadge } from "@/components/ui/state-badge";
import { countText, fixed } from "@/lib/numbers";
import { clockText } from "@/lib/time";

const msText = (seconds: number | null) => (seconds === null ? "" : fixed(1000 * seconds, 1));

const COLUMNS: readonly Column<HandOver>[] = [
  { key: "flow", title: "Flow", cell: (row) => <span className="ent">{row.flow}</span> },
  { key: "broker", title: "Broker", cell: (row) => row.broker_name },
  {
    key: "from",
    title: "From",
    cell: (row) => <Place stream={row.from_stream} group={row.from_group} />,
  },
  {
    key: "to",
    title: "To",
    cell: (row) => (
      <>
        <span className="faint">{"\u2192"}</span>{" "}
        <Place stream={row.to_stream} group={row.to_group} />
      </>
    ),
  },
  { key: "phase", title: "Phase", cell: (row) => <StateBadge state={row.phase} /> },
  { key: "began", title: "Began", cell: (row) => clockText(row.began_at) },
  {
    key: "took",
    title: "Took",
    unit: "ms",
    number: true,
    cell: (row) => msText(row.took_s),
  },
  {
    key: "unready",
    title: "Not waited for",
    number: true,
    cell: (row) => (row.unready === 0 ? <span className="faint">0</span> : fixed(row.unready)),
  },
];

function Place({ stream, group }: { stream: number; group: number }) {
  return (
    <>
      stream {stream} <span className="faint">in group {group}</span>
    </>
  );
}

function figuresOf({ moving, done, median_s, longest_s }: HandOvers): string {
  const lately =
    done === 0
      ? "none done in the last minute"
      : `${fixed(done)} done in the last minute, half of them within ${msText(median_s)} ms, ` +
        `the longest in ${msText(longest_s)} ms`;
  return `${fixed(moving)} under way, ${lately}`;
}

/** Nothing where no agent sends flows on streams: there the map is on paper alone. */
export function HandOversPanel({ system }: { system: string }) {
  const now = useHandOvers(system).data;
  if (now === undefined || now.brokers === 0) return null;
  return (
    <Panel title="Flows on their way" sub={figuresOf(now)} flush>
      {now.unready > 0 ? (
        <Note tone="warn">
          {countText(now.unready, "subscriber")} had not answered within 0.5 s when their flow
          changed its stream. They may have missed messages; each is told which.
        </Note>
      ) : null}
      {now.rows.length === 0 ? (
        <Empty>
          {countText(now.brokers, "broker")} {now.brokers === 1 ? "sends" : "send"} flows on
          streams; none has changed its stream in the last minute.
        </Empty>
      ) : (
        <DataTable
          label="Flows on their way"
          columns={COLUMNS}
          rows={now.rows}
          rowKey={(row) => `${row.broker} ${row.flow}`}
        />
      )}
    </Panel>
  );
}
