/** What happens now: every broker's agent, the gates of the flows, consumers admitted and waiting. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useParams } from "react-router";

import { BrokerLivePanel } from "./broker-live-panel";
import { EnrolDialog } from "./enrol-dialog";
import { fleetRows, type FleetRow } from "./fleet";
import { FlowsPanel } from "./flows-panel";
import { LossesPanel } from "./losses-panel";

import { catalogAll } from "@/api/catalog";
import { keys } from "@/api/query-keys";
import { useMay } from "@/api/session";
import { useSystem } from "@/api/systems";
import { agentsQuery, telemetryQuery } from "@/api/telemetry";
import { Command } from "@/components/ui/command";
import { DataTable, type Column } from "@/components/ui/data-table";
import { PageHead } from "@/components/ui/page";
import { Empty, Failure, Loading, Panel } from "@/components/ui/panel";
import { RestoredNote } from "@/components/ui/restored-note";
import { Sparkline } from "@/components/ui/sparkline";
import { Badge, StateBadge } from "@/components/ui/state-badge";
import { useCurrentSystemIs } from "@/lib/current-system";
import { countText, fixed, rateText, UNKNOWN } from "@/lib/numbers";
import { ageText } from "@/lib/time";

export default function TelemetryPage() {
  const { systemId = "" } = useParams();
  return <Telemetry key={systemId} system={systemId} />;
}

/** What the agent itself says, and what is wrong with its address: its panel holds the sentences. */
const hasProblem = ({ agent }: Pick<FleetRow, "agent">) =>
  agent !== null && ((agent.observed?.problems ?? []).length > 0 || agent.address_problem !== "");

const state = ({ agent }: FleetRow) =>
  agent === null ? (
    <span className="faint">no agent</span>
  ) : (
    <>
      <StateBadge state={agent.state === "never" ? "not_seen" : agent.state} />
      {hasProblem({ agent }) ? (
        <>
          {" "}
          <Badge tone="warn" icon="alert">
            Problem
          </Badge>
        </>
      ) : null}
    </>
  );

const COLUMNS: Column<FleetRow>[] = [
  { key: "name", title: "Broker", cell: (row) => <b>{row.broker.name}</b> },
  { key: "state", title: "Agent", cell: state },
  {
    key: "spark",
    title: "",
    cell: (row) => (
      <Sparkline values={row.out} label={`Messages out of ${row.broker.name}, last minutes`} />
    ),
  },
  {
    key: "out",
    title: "Out",
    unit: "msg/s",
    number: true,
    strong: true,
    cell: (row) => rateText(row.latest?.broker_load.out_msgs_per_s),
  },
  {
    key: "in",
    title: "In",
    unit: "msg/s",
    number: true,
    cell: (row) => rateText(row.latest?.broker_load.in_msgs_per_s),
  },
  {
    key: "backlog",
    title: "Backlog",
    unit: "msg",
    number: true,
    cell: (row) => fixed(row.backlog),
  },
  { key: "admitted", title: "Admitted", number: true, cell: (row) => fixed(row.admitted) },
  { key: "waiting", title: "Waiting", number: true, cell: (row) => fixed(row.waiting) },
  {
    key: "unmanaged",
    title: "Unmanaged",
    number: true,
    cell: (row) => (row.latest ? fixed(row.latest.broker_load.unmanaged.length) : UNKNOWN),
  },
  {
    key: "seen",
    title: "Reported",
    number: true,
    cell: (row) => (
      <span className="faint">
        {row.agent?.last_report_at ? `${ageText(row.agent.last_report_at)} ago` : UNKNOWN}
      </span>
    ),
  },
];

function Telemetry({ system: systemId }: { system: string }) {
  useCurrentSystemIs(systemId);
  const system = useSystem(systemId);
  const scope = { system: systemId };
  const brokers = useQuery({
    queryKey: keys.catalog.whole("brokers", scope),
    queryFn: ({ signal }) => catalogAll("brokers", scope, signal),
  });
  const agents = useQuery(agentsQuery(systemId));
  const recent = useQuery(telemetryQuery(systemId));
  const [picked, setPicked] = useState<string | null>(null);
  const [enrolling, setEnrolling] = useState(false);
  const mayEnrol = useMay("manage_agents");
  const rows = fleetRows(brokers.data ?? [], agents.data?.results ?? [], recent.data);
  const selected = rows.find((row) => row.broker.id === picked) ?? rows[0];
  const live = rows.filter((row) => row.agent?.state === "live").length;
  const silent = rows.filter((row) => row.agent?.state === "silent").length;
  const troubled = rows.filter(hasProblem).length;
  const broken = brokers.error ?? agents.error;
  return (
    <>
      <PageHead
        title="Telemetry"
        crumbs={[{ label: system.data?.name ?? "System", to: `/systems/${systemId}` }]}
        state={
          <>
            {silent > 0 ? (
              <Badge tone="warn" icon="alert" large>
                {countText(silent, "agent")} silent
              </Badge>
            ) : null}
            {troubled > 0 ? (
              <Badge tone="warn" icon="alert" large>
                {countText(troubled, "broker")} with problems
              </Badge>
            ) : null}
          </>
        }
        plainFacts={
          agents.data ? (
            <span>
              {fixed(live)} of {countText(rows.length, "broker")} with an agent that holds its lease
            </span>
          ) : null
        }
        commands={
          mayEnrol ? (
            <Command icon="key" onClick={() => setEnrolling(true)}>
              Enrol agent
            </Command>
          ) : null
        }
      />
      <div className="main">
        {broken ? (
          <Panel title="Brokers">
            <Failure
              error={broken}
              what="The fleet"
              retry={() => {
                void brokers.refetch();
                void agents.refetch();
              }}
            />
          </Panel>
        ) : brokers.isPending || agents.isPending ? (
          <Panel title="Brokers">
            <Loading rows={6} label="Loading the fleet" />
          </Panel>
        ) : rows.length === 0 ? (
          <Panel title="Brokers">
            <Empty>This system has no brokers yet, so nothing is measured.</Empty>
          </Panel>
        ) : (
          <div className="cols c-8-4 c-live">
            <div className="stack">
              {rows.some((row) => row.agent?.database_restored) ? (
                <RestoredNote system={systemId} />
              ) : null}
              <Panel title="Brokers" sub="measured by their agents, every second" flush>
                <DataTable
                  label="Brokers"
                  columns={COLUMNS}
                  rows={rows}
                  rowKey={(row) => row.broker.id}
                  selected={selected?.broker.id ?? null}
                  onSelect={(row) => setPicked(row.broker.id)}
                  keys
                />
              </Panel>
              <FlowsPanel system={systemId} />
              <LossesPanel system={systemId} />
            </div>
            <div className="stack">
              {selected ? <BrokerLivePanel system={systemId} row={selected} /> : null}
            </div>
          </div>
        )}
      </div>
      <EnrolDialog
        system={systemId}
        rows={rows}
        open={enrolling}
        onClose={() => setEnrolling(false)}
      />
    </>
  );
}
