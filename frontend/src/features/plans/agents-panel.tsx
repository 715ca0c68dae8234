/** Delivery and agents while a plan runs: what is held up, for how long, and who answers. */
import { memo } from "react";

import { useQuery } from "@tanstack/react-query";

import { longestPause } from "./phases";

import type { Execution } from "@/api/plans";
import { agentsQuery, telemetryQuery } from "@/api/telemetry";
import { Note } from "@/components/ui/dialogs";
import { Panel, QueryBody } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { UnitNumber } from "@/components/ui/unit-number";
import { fixed, rateText, significant, UNKNOWN } from "@/lib/numbers";
import { ageText } from "@/lib/time";

/** The promise is the median of shifts before, and the longest of several is above it by chance. */
const MUCH_LONGER = 2;

const sum = (values: readonly (number | undefined)[]) =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0);

/** The longest pause that was measured beside the one that was promised, and which is longer. */
function LongestPause({ measured, promised }: { measured: number; promised: number | null }) {
  const times = promised === null || promised <= 0 ? null : measured / promised;
  return (
    <>
      <UnitNumber value={measured} as="duration" />
      {promised === null ? null : (
        <div className={times !== null && times > MUCH_LONGER ? "down" : "faint"}>
          <UnitNumber value={promised} as="duration" /> promised
          {times === null ? "" : times > 1 ? `, ${significant(times, 2)} times as long` : ", kept"}
        </div>
      )}
    </>
  );
}

export const AgentsPanel = memo(function AgentsPanel({
  system,
  execution,
  promisedPause,
}: {
  system: string;
  execution?: Execution;
  /** Seconds that one link was expected to pause; null where nobody promised it. */
  promisedPause: number | null;
}) {
  const agents = useQuery(agentsQuery(system));
  const telemetry = useQuery(telemetryQuery(system));
  const rows = agents.data?.results ?? [];
  const enrolled = rows.filter((agent) => agent.state !== "revoked");
  const live = enrolled.filter((agent) => agent.state === "live");
  const silent = enrolled.filter((agent) => agent.state !== "live");
  const problems = enrolled.flatMap((agent) =>
    (agent.observed?.problems ?? []).map((text) => ({ broker: agent.broker_name, text })),
  );
  const measured = telemetry.data?.latest;
  const pause = execution ? longestPause(execution) : null;
  const flows = measured?.flatMap((row) => Object.values(row.flows)) ?? [];
  const links = measured?.flatMap((row) => Object.values(row.links)) ?? [];
  const unmanaged = measured?.reduce((n, row) => n + row.broker_load.unmanaged.length, 0) ?? 0;
  const backlog = sum(flows.map((flow) => flow.backlog)) + sum(links.map((link) => link.backlog));
  return (
    <Panel
      title="Delivery and agents"
      right={
        agents.data ? (
          <Badge
            tone={enrolled.length > 0 && silent.length === 0 ? "good" : "warn"}
            icon={silent.length === 0 ? "check" : "clockx"}
          >
            {fixed(live.length)} of {fixed(enrolled.length)} live
          </Badge>
        ) : undefined
      }
    >
      <QueryBody query={agents} what="Agents" rows={4}>
        {() => (
          <>
            <dl className="kv">
              <dt>Agents with a lease</dt>
              <dd>
                {fixed(live.length)} of {fixed(enrolled.length)}
              </dd>
              <dt>Longest pause so far</dt>
              <dd>
                {pause === null ? (
                  UNKNOWN
                ) : (
                  <LongestPause measured={pause} promised={promisedPause} />
                )}
              </dd>
              <dt>Waiting in brokers now</dt>
              <dd>
                {measured === undefined ? (
                  UNKNOWN
                ) : (
                  <>
                    {fixed(backlog)}
                    <span className="u">messages</span>
                  </>
                )}
              </dd>
              <dt>Shed at the gates now</dt>
              <dd>
                {measured === undefined ? (
                  UNKNOWN
                ) : (
                  <>
                    {rateText(sum(flows.map((flow) => flow.shed_per_s)))}
                    <span className="u">msg/s</span>
                  </>
                )}
              </dd>
              <dt>Clients without a class</dt>
              <dd>{measured === undefined ? UNKNOWN : fixed(unmanaged)}</dd>
            </dl>
            {silent.map((agent) => (
              <Note key={agent.id} tone="warn">
                <b>{agent.broker_name}</b>{" "}
                {agent.state === "never"
                  ? "has no agent that ever reported; start it, or this plan cannot finish there."
                  : `has not answered for ${ageText(agent.last_report_at)}; its broker goes on unchanged.`}
              </Note>
            ))}
            {problems.map(({ broker, text }) => (
              <Note key={`${broker} ${text}`} tone="warn">
                <b>{broker}</b> {text}
              </Note>
            ))}
          </>
        )}
      </QueryBody>
    </Panel>
  );
});
