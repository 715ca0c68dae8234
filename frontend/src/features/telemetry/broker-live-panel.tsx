/** One broker as its agent measures it: health, admitted and waiting consumers, links, problems. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import { AddressDialog } from "./address-dialog";
import { classRows, type FleetRow } from "./fleet";
import { RepairNote } from "./repair-note";

import { keys } from "@/api/query-keys";
import { agentRevoke } from "@/api/telemetry";
import { AdmissionBar } from "@/components/ui/bars";
import { DataTable } from "@/components/ui/data-table";
import { ConfirmDialog, Note } from "@/components/ui/dialogs";
import { Empty, Panel } from "@/components/ui/panel";
import { StateBadge } from "@/components/ui/state-badge";
import { to } from "@/lib/kinds";
import { countText, dataScale, fixed, percentText, rateText, UNKNOWN } from "@/lib/numbers";
import { ageText, exactTime } from "@/lib/time";

const MIB = 1024 * 1024;

function DataRate({ bytes }: { bytes: number | undefined }) {
  if (bytes === undefined) return UNKNOWN;
  const scale = dataScale(bytes);
  return (
    <>
      {scale.text(bytes)} <span className="u">{scale.unit}/s</span>
    </>
  );
}

export function BrokerLivePanel({ system, row }: { system: string; row: FleetRow }) {
  const { broker, agent, latest } = row;
  const load = latest?.broker_load;
  const problems = agent?.observed?.problems ?? [];
  const unmanaged = load?.unmanaged ?? [];
  const queries = useQueryClient();
  const [addressing, setAddressing] = useState(false);
  const [revoking, setRevoking] = useState(false);
  const revoke = async (id: string) => {
    await agentRevoke(id);
    await queries.invalidateQueries({ queryKey: keys.agents.list(system) });
  };
  const links = Object.entries(latest?.links ?? {});
  return (
    <>
      <Panel
        title={
          <>
            {broker.name} {agent ? <StateBadge state={agent.state} /> : null}
          </>
        }
        right={
          <>
            {agent?.allowed_commands.includes("revoke") ? (
              <button type="button" className="link" onClick={() => setRevoking(true)}>
                Revoke agent
              </button>
            ) : null}{" "}
            <Link to={to.object(system, "brokers", broker.id)}>Open broker</Link>
          </>
        }
      >
        {agent?.address_problem ? <Note tone="warn">{agent.address_problem}</Note> : null}
        {latest?.suspect ? (
          <Note tone="warn">
            What the agent measures cannot be true, so it is left out of all sums: {latest.suspect}
          </Note>
        ) : null}
        {problems.map((problem) => (
          <Note key={problem} tone="warn">
            {problem}
          </Note>
        ))}
        {agent === null || agent.state === "live" ? null : (
          <RepairNote system={system} broker={broker.id} />
        )}
        {agent === null ? (
          <p className="muted">
            No agent runs beside this broker, so nothing is measured and nothing can be enforced
            here.
          </p>
        ) : (
          <dl className="kv">
            <dt>Last report</dt>
            <dd title={exactTime(agent.last_report_at)}>
              {agent.last_report_at ? `${ageText(agent.last_report_at)} ago` : "never"}
            </dd>
            <dt>Product</dt>
            <dd>{agent.product || UNKNOWN}</dd>
            <dt>Agent version</dt>
            <dd>{agent.agent_version || UNKNOWN}</dd>
            <dt>Sessions of the agent</dt>
            <dd>{fixed(agent.incarnation)}</dd>
            <dt>Address for neighbours</dt>
            <dd>
              <span className="mono">{agent.address || UNKNOWN}</span>{" "}
              {agent.allowed_commands.includes("edit") ? (
                <button type="button" className="link" onClick={() => setAddressing(true)}>
                  Set address
                </button>
              ) : null}
            </dd>
            <dt>Key for links</dt>
            <dd className="mono" title={agent.public_key}>
              {agent.public_key ? `${agent.public_key.slice(0, 12)}…` : UNKNOWN}
            </dd>
            <dt>Connections</dt>
            <dd>{fixed(load?.connections)}</dd>
            <dt>Into the broker</dt>
            <dd>
              {rateText(load?.in_msgs_per_s)}
              <span className="u">msg/s</span>
            </dd>
            <dt>Out of the broker</dt>
            <dd>
              {rateText(load?.out_msgs_per_s)}
              <span className="u">msg/s</span>
            </dd>
            <dt>Data in</dt>
            <dd>
              <DataRate bytes={load?.in_bytes_per_s} />
            </dd>
            <dt>Data out</dt>
            <dd>
              <DataRate bytes={load?.out_bytes_per_s} />
            </dd>
            <dt>CPU of the broker</dt>
            <dd>
              {percentText(load?.cpu_ratio)}
              <span className="u">of a core</span>
            </dd>
            <dt>Memory of the broker</dt>
            <dd>
              {load?.memory_bytes === undefined ? UNKNOWN : fixed(load.memory_bytes / MIB)}
              <span className="u">MiB</span>
            </dd>
            <dt>Acknowledges only what is on disk</dt>
            <dd>
              {load?.sync_always === undefined || load.sync_always === null
                ? "not known"
                : load.sync_always
                  ? "yes"
                  : "no"}
            </dd>
          </dl>
        )}
        {unmanaged.length > 0 ? (
          <Note tone="warn">
            {countText(unmanaged.length, "client")} of no consumer class:{" "}
            {unmanaged.slice(0, 8).join(", ")}
            {unmanaged.length > 8 ? ` and ${unmanaged.length - 8} more` : ""}. They are among
            themselves and hear nothing of this system’s topics. The page of the system says whether
            they may come in.
          </Note>
        ) : null}
      </Panel>
      {agent ? (
        <>
          <AddressDialog agent={agent} open={addressing} onClose={() => setAddressing(false)} />
          <ConfirmDialog
            title={`Revoke agent of ${broker.name}`}
            command="Revoke agent"
            open={revoking}
            onClose={() => setRevoking(false)}
            run={() => revoke(agent.id)}
          >
            <p>
              The credential that begins with {agent.prefix} ends at once. Neighbours end their
              links with <b>{broker.name}</b>: reliable messages for it wait, best-effort ones are
              lost. The broker itself goes on unchanged. Enrol the agent anew to bring it back.
            </p>
          </ConfirmDialog>
        </>
      ) : null}
      <Panel title="Consumers" sub={`at ${broker.name}`} flush>
        {classRows(row).length === 0 ? (
          <Empty>No consumer class is known at this broker.</Empty>
        ) : (
          <DataTable
            label={`Consumers at ${broker.name}`}
            rows={classRows(row)}
            rowKey={(each) => each.name}
            columns={[
              {
                key: "name",
                title: "Class",
                cell: (each) => (
                  <div className="name" title={each.name}>
                    {each.name}
                  </div>
                ),
              },
              {
                key: "bar",
                title: "",
                cell: (each) => (
                  <AdmissionBar
                    admitted={each.admitted}
                    wanted={each.admitted + each.waiting}
                    width={40}
                  />
                ),
              },
              {
                key: "admitted",
                title: "Admitted",
                number: true,
                strong: true,
                cell: (each) => fixed(each.admitted),
              },
              {
                key: "limit",
                title: "Limit",
                number: true,
                cell: (each) => (each.limit === null ? "none" : fixed(each.limit)),
              },
              {
                key: "waiting",
                title: "Waiting",
                number: true,
                cell: (each) => fixed(each.waiting),
              },
            ]}
          />
        )}
      </Panel>
      {links.length === 0 ? null : (
        <Panel title="Links" sub={`of ${broker.name}`} flush>
          <DataTable
            label={`Links of ${broker.name}`}
            rows={links}
            rowKey={([name]) => name}
            columns={[
              {
                key: "name",
                title: "To",
                cell: ([name]) => (
                  <div className="name" title={name}>
                    {name}
                  </div>
                ),
              },
              {
                key: "sent",
                title: "Sent",
                unit: "msg/s",
                number: true,
                cell: ([, link]) => rateText(link.sent_per_s),
              },
              {
                key: "received",
                title: "Received",
                unit: "msg/s",
                number: true,
                cell: ([, link]) => rateText(link.received_per_s),
              },
              {
                key: "backlog",
                title: "Waiting",
                unit: "msg",
                number: true,
                cell: ([, link]) => fixed(link.backlog),
              },
              {
                key: "peak",
                title: "Most in 10 s",
                unit: "msg",
                number: true,
                cell: ([, link]) => fixed(link.backlog_peak),
              },
            ]}
          />
        </Panel>
      )}
    </>
  );
}
