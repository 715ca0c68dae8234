/** What waits of reliable topics at their gates: how fast it grows, and when it is full. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { DataTable, type Column } from "./data-table";
import { Empty, Panel, QueryBody } from "./panel";
import { Badge } from "./state-badge";

import type { Schemas } from "@/api/client";
import { flowStatusQuery } from "@/api/telemetry";
import { to } from "@/lib/kinds";
import { durationText, fixed, signed } from "@/lib/numbers";

type Backlog = Schemas["Backlog"];

const BADGES = {
  alarm: { tone: "bad", icon: "alert", word: "Alarm" },
  growing: { tone: "warn", icon: "alert", word: "Growing" },
  steady: null,
  unknown: null,
} as const;

function slopeText(row: Backlog): React.ReactNode {
  if (row.slope_per_s === null) return "cannot be told yet";
  const decimals = Math.abs(row.slope_per_s) < 99.995 ? 2 : 0;
  return (
    <>
      {signed(row.slope_per_s, decimals)}
      <span className="u">msg/s</span>
    </>
  );
}

const BYTES_PER_MIB = 2 ** 20;

function limitText(row: Backlog): string {
  if (row.limit === null || row.most === null) return "";
  switch (row.limit) {
    case "messages":
      return `${fixed(row.most)} messages fit`;
    case "age": {
      const { text, unit } = durationText(row.most);
      return `dropped after ${text} ${unit}`;
    }
    case "bytes":
      return `${fixed(row.most / BYTES_PER_MIB, 1)} MiB fit`;
    case "storage":
      return `the broker may store ${fixed(row.most / BYTES_PER_MIB)} MiB`;
  }
}

function fullText(row: Backlog): React.ReactNode {
  if (row.full_in_s === null) return row.why;
  const { text, unit } = durationText(row.full_in_s);
  return (
    <>
      {row.full_in_s === 0 ? (
        "now"
      ) : (
        <>
          {text}
          <span className="u">{unit}</span>
        </>
      )}{" "}
      <span className="faint">{limitText(row)}</span>
    </>
  );
}

const badgeOf = (row: Backlog) => {
  const badge = BADGES[row.growth];
  return badge ? (
    <Badge tone={badge.tone} icon={badge.icon}>
      {badge.word}
    </Badge>
  ) : null;
};

const SUB = "before the gate; growth over the last two minutes";

export function WaitingPanel({ system, topic }: { system: string; topic: string }) {
  const status = useQuery(flowStatusQuery(system));
  const row = status.data?.flows.find((flow) => flow.flow === topic)?.waiting;
  return (
    <Panel title="Waiting messages" sub={SUB} right={row ? badgeOf(row) : null}>
      <QueryBody query={status} what="What waits" rows={2}>
        {() =>
          row ? (
            <dl className="kv">
              <dt>Waiting at {row.broker}</dt>
              <dd>
                {fixed(row.waiting)}
                <span className="u">msg</span>
              </dd>
              <dt>Grows by</dt>
              <dd>{slopeText(row)}</dd>
              <dt>Full in</dt>
              <dd>{fullText(row)}</dd>
            </dl>
          ) : (
            <p className="muted">Nothing is measured now.</p>
          )
        }
      </QueryBody>
    </Panel>
  );
}

type Row = Backlog & { flow: string };

const COLUMNS: Column<Row>[] = [
  {
    key: "topic",
    title: "Topic",
    cell: (row) => (
      <>
        <b>{row.flow}</b> {badgeOf(row)}
      </>
    ),
  },
  {
    key: "waiting",
    title: "Waiting",
    unit: "msg",
    number: true,
    strong: true,
    cell: (row) => fixed(row.waiting),
  },
  { key: "grows", title: "Grows by", number: true, cell: slopeText },
  { key: "full", title: "Full in", cell: fullText },
];

const ALARMS = { alarm: 0, growing: 1, steady: 2, unknown: 3 } as const;

/** The same of all reliable topics, those that grow first. */
export function WaitingTable({ system }: { system: string }) {
  const status = useQuery(flowStatusQuery(system));
  return (
    <Panel
      title="Waiting messages"
      sub={SUB}
      right={
        <Link className="btn sm" to={to.telemetry(system)}>
          Live
        </Link>
      }
      flush
    >
      <QueryBody query={status} what="What waits" rows={3}>
        {({ flows }) => {
          const rows = flows
            .flatMap(({ flow, waiting }) => (waiting ? [{ ...waiting, flow }] : []))
            .sort((a, b) => ALARMS[a.growth] - ALARMS[b.growth] || b.waiting - a.waiting);
          return rows.length === 0 ? (
            <Empty>No agent measures what waits of reliable topics now.</Empty>
          ) : (
            <DataTable
              label="Waiting messages"
              columns={COLUMNS}
              rows={rows}
              rowKey={(row) => row.flow}
            />
          );
        }}
      </QueryBody>
    </Panel>
  );
}
