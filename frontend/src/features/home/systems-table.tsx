/** One row per system: its loads and whence they are known, what is in force, what is proposed. */
import { Link } from "react-router";

import { BASES, stands } from "./bases";

import type { Overview } from "@/api/allocations";
import { LevelStrip } from "@/components/ui/bars";
import { Scroll } from "@/components/ui/scroll";
import { Badge, StateBadge } from "@/components/ui/state-badge";
import { answerAddress, listAddress } from "@/lib/computations";
import { to } from "@/lib/kinds";
import { loadState } from "@/lib/load";
import { countText, fixed, gapText, UNKNOWN } from "@/lib/numbers";
import { ageText, exactTime } from "@/lib/time";

export function SystemState({ system }: { system: Overview }) {
  const known = stands(system.loads.basis);
  const loads = known ? system.node_loads.map((node) => loadState(node.utilisation)) : [];
  if (system.active_runs > 0) {
    return (
      <Badge tone="active" icon="progress">
        {countText(system.active_runs, "run")} active
      </Badge>
    );
  }
  if (loads.length === 0) {
    return (
      <Badge tone="idle" icon="cube">
        {system.loads.basis === "proposed" ? "Only proposed" : "Model only"}
      </Badge>
    );
  }
  const over = loads.filter((state) => state === "over").length;
  const near = loads.filter((state) => state === "near").length;
  if (over > 0) {
    return (
      <Badge tone="bad" icon="alert">
        {countText(over, "broker")} over
      </Badge>
    );
  }
  const full = loads.filter((state) => state === "at").length;
  if (full > 0) {
    return (
      <Badge tone="idle" icon="crest">
        {full} of {loads.length} full
      </Badge>
    );
  }
  return near > 0 ? (
    <Badge tone="idle" icon="crest">
      {near} nearly full
    </Badge>
  ) : (
    <Badge tone="good" icon="check">
      Steady
    </Badge>
  );
}

export function SystemsTable({
  systems,
  onOpen,
}: {
  systems: readonly Overview[];
  onOpen: (system: Overview) => void;
}) {
  return (
    <Scroll label="Systems">
      <table className="tbl homet" aria-label="Systems">
        <thead>
          <tr>
            <th scope="col">System</th>
            <th scope="col">State</th>
            <th scope="col">Broker load</th>
            <th className="n" scope="col">
              Highest
            </th>
            <th className="n" scope="col">
              Total utility
            </th>
            <th className="n" scope="col">
              Gap to bound
            </th>
            <th className="n" scope="col">
              Admitted
            </th>
            <th scope="col">Latest run</th>
            <th scope="col">Allocation</th>
            <th className="n" scope="col">
              Model
            </th>
          </tr>
        </thead>
        <tbody>
          {systems.map((system) => {
            const allocation = system.allocation_in_force ?? system.latest_allocation;
            const newer =
              system.latest_allocation && system.latest_allocation.id !== allocation?.id
                ? system.latest_allocation
                : null;
            const run = system.latest_run;
            const highest = system.node_loads[0];
            return (
              <tr
                key={system.id}
                className="pick"
                onClick={(event) => {
                  if (!(event.target as HTMLElement).closest("a")) onOpen(system);
                }}
              >
                <td>
                  <Link className="ent" to={to.topology(system.id)}>
                    {system.name}
                  </Link>{" "}
                  <span className="tag">{system.product_name}</span>
                  <div className="two">
                    {countText(system.brokers, "broker")}, {countText(system.topics, "topic")}
                  </div>
                </td>
                <td>
                  <SystemState system={system} />
                </td>
                <td>
                  {system.node_loads.length > 0 ? (
                    <>
                      <LevelStrip
                        levels={system.node_loads.map((node) => ({
                          name: node.name,
                          fraction: node.utilisation,
                        }))}
                      />
                      <div className="two" title={system.loads.detail}>
                        {BASES[system.loads.basis]}
                      </div>
                    </>
                  ) : (
                    <span className="faint">not computed yet</span>
                  )}
                </td>
                <td className="n strong">
                  {highest ? (
                    <>
                      {fixed(highest.utilisation * 100)}
                      <span className="u">%</span>
                    </>
                  ) : (
                    UNKNOWN
                  )}
                </td>
                <td className="n strong">{fixed(allocation?.utility)}</td>
                <td className="n">
                  {typeof allocation?.upper_bound === "number" ? (
                    <>
                      {gapText(allocation.utility, allocation.upper_bound)}
                      <span className="u">%</span>
                    </>
                  ) : (
                    UNKNOWN
                  )}
                </td>
                <td className="n">
                  {allocation ? (
                    <>
                      <b>{fixed(allocation.admitted)}</b>
                      <span className="u">of {fixed(allocation.wanted)}</span>
                    </>
                  ) : (
                    UNKNOWN
                  )}
                </td>
                <td>
                  {run ? (
                    <>
                      <StateBadge state={run.state} />
                      <div className="two">
                        <Link to={to.run(run.id)} title={exactTime(run.created_at)}>
                          R-{run.number}
                        </Link>
                      </div>
                    </>
                  ) : (
                    <span className="faint">none yet</span>
                  )}
                </td>
                <td>
                  {allocation ? (
                    <>
                      <Link to={answerAddress("allocation", system.id, allocation.id)}>
                        A-{allocation.number}
                      </Link>
                      <div className="two">
                        {system.allocation_in_force ? "in force" : "proposed"}
                        {newer ? (
                          <>
                            ,{" "}
                            <Link to={answerAddress("allocation", system.id, newer.id)}>
                              A-{newer.number}
                            </Link>{" "}
                            proposed
                          </>
                        ) : (
                          `, ${ageText(allocation.created_at)} ago`
                        )}
                      </div>
                    </>
                  ) : (
                    <Link to={listAddress("allocation", system.id)}>none yet</Link>
                  )}
                </td>
                <td className="n">
                  v{fixed(system.model_version)}
                  {system.model_moved ? (
                    <div className="two" title="The model was edited after the latest allocation.">
                      moved on
                    </div>
                  ) : null}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}
