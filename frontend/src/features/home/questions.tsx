/** The three questions of the home page, as far as allocations and the model can answer them. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { BASES, basesText, stands } from "./bases";
import { OUTCOME_DAYS } from "./loop-strip";

import { allocationsQuery, type Overview } from "@/api/allocations";
import { outcomesQuery, waitingPlansQuery, type Plan } from "@/api/plans";
import { LoadBar } from "@/components/ui/bars";
import { Icon } from "@/components/ui/icons";
import { QueryBody } from "@/components/ui/panel";
import { Badge, LoadBadge, StateBadge } from "@/components/ui/state-badge";
import { aimOf, tally, VERDICTS } from "@/components/ui/verdicts";
import { answerAddress, askAddress } from "@/lib/computations";
import { to } from "@/lib/kinds";
import { isOver, loadState } from "@/lib/load";
import { countText, fixed, percentText, relativeChange, UNKNOWN } from "@/lib/numbers";
import { ageText } from "@/lib/time";

function Question({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <section className="panel q" aria-label={title}>
      <header>
        <h2>{title}</h2>
      </header>
      <div className="body stack" style={{ gap: 12 }}>
        {children}
      </div>
    </section>
  );
}

export function CapacityQuestion({ systems }: { systems: readonly Overview[] }) {
  // A proposal says nothing of how full a broker is.
  const standing = systems.filter((system) => stands(system.loads.basis));
  const proposed = systems.filter((system) => system.loads.basis === "proposed");
  const loads = standing
    .flatMap((system) => system.node_loads.map((node) => ({ ...node, system })))
    .sort((a, b) => b.utilisation - a.utilisation);
  const within = loads.filter((node) => !isOver(node.utilisation)).length;
  return (
    <Question title="Is every broker within its capacity?">
      {loads.length === 0 ? (
        <p className="muted">
          {proposed.length > 0
            ? "Nothing is measured and nothing is in force yet; allocations are only proposed."
            : "Nothing is measured and nothing is in force yet. Optimize a system, and carry its plan out."}
        </p>
      ) : (
        <>
          <div className="big">
            <b>{fixed(within)}</b>
            <span>
              of {countText(loads.length, "broker")}, {basesText(standing)}
            </span>
          </div>
          <table className="tbl bare" aria-label="Fullest brokers">
            <tbody>
              {loads.slice(0, 4).map((node) => (
                <tr key={`${node.system.id}-${node.name}`}>
                  <td className="rest">
                    <Link className="ent" to={to.topology(node.system.id)}>
                      {node.name}
                    </Link>
                    <div className="faint" title={node.system.loads.detail}>
                      {node.system.name}, {BASES[node.system.loads.basis]}
                    </div>
                  </td>
                  <td>
                    <LoadBar fraction={node.utilisation} width={64} />
                  </td>
                  <td className="n strong">{percentText(node.utilisation)}</td>
                  <td className="n">
                    <LoadBadge state={loadState(node.utilisation)} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {proposed.length > 0 ? (
            <p className="muted">
              {proposed.map((system) => system.name).join(", ")}: only proposed, so not counted.
            </p>
          ) : null}
        </>
      )}
    </Question>
  );
}

type Waiting = {
  key: string;
  icon: "play" | "alert" | "edit" | "plan";
  title: string;
  note: string;
  link: string;
  verb: string;
  age: string;
};

/** What a person could do next: look at a failure, optimize a model that moved on. */
export function waitingOf(systems: readonly Overview[]): Waiting[] {
  return systems.flatMap((system): Waiting[] => {
    const run = system.latest_run;
    if (run && ["failed", "infeasible"].includes(run.state)) {
      return [
        {
          key: `run-${run.id}`,
          icon: "alert",
          title: `R-${run.number} of ${system.name} ${run.state === "failed" ? "failed" : "found nothing feasible"}`,
          note: run.failure,
          link: to.run(run.id),
          verb: "Open",
          age: ageText(run.finished_at),
        },
      ];
    }
    if (system.active_runs > 0 && run) {
      return [
        {
          key: `active-${system.id}`,
          icon: "play",
          title: `R-${run.number} of ${system.name} is ${run.state}`,
          note: `best utility so far ${fixed(run.progress.best_utility)}`,
          link: to.run(run.id),
          verb: "Watch",
          age: ageText(run.created_at),
        },
      ];
    }
    if (system.latest_allocation === null && system.topics > 0) {
      return [
        {
          key: `first-${system.id}`,
          icon: "play",
          title: `${system.name} was never optimized`,
          note: `${countText(system.topics, "topic")} without a rate`,
          link: askAddress("allocation", system.id),
          verb: "Optimize",
          age: "",
        },
      ];
    }
    if (system.model_moved && system.latest_allocation) {
      const from = system.latest_allocation.model_version ?? 0;
      return [
        {
          key: `moved-${system.id}`,
          icon: "edit",
          title: `The model of ${system.name} moved on`,
          note: `v${fixed(from)} to v${fixed(system.model_version)} since A-${system.latest_allocation.number}`,
          link: askAddress("allocation", system.id),
          verb: "Optimize",
          age: ageText(system.latest_allocation.created_at),
        },
      ];
    }
    return [];
  });
}

export const plansWaiting = (plans: readonly Plan[]): Waiting[] =>
  plans.map((plan) => ({
    key: `plan-${plan.id}`,
    icon: "plan",
    title: `${plan.name} ${plan.title}`,
    note: `${plan.system_name}, ${fixed(plan.approvals_given)} of ${countText(plan.approvals_needed, "approval")} given`,
    link: to.plan(plan.id),
    verb: "Review",
    age: ageText(plan.waiting_since),
  }));

export function WaitingQuestion({ systems }: { systems: readonly Overview[] }) {
  const plans = useQuery(waitingPlansQuery).data;
  const waiting = [...plansWaiting(plans?.results ?? []), ...waitingOf(systems)];
  const count = waiting.length + (plans ? plans.count - plans.results.length : 0);
  return (
    <Question title="What waits for me?">
      <div className="big">
        <b>{fixed(count)}</b>
        <span>{count === 0 ? "every model has its allocation" : "to look at"}</span>
      </div>
      {count === 0 ? (
        <p className="muted">
          Plans to review, failed runs, and models that moved on since their last allocation appear
          here.
        </p>
      ) : null}
      <ol className="todo">
        {waiting.slice(0, 4).map((item) => (
          <li key={item.key}>
            <span className="dot waits">
              <Icon name={item.icon} />
            </span>
            <div style={{ minWidth: 0 }}>
              <Link className="ent" to={item.link} style={{ color: "var(--text)" }}>
                {item.title}
              </Link>
              <p>{item.note}</p>
            </div>
            <div className="rr">
              <span className="faint">{item.age}</span>
              <Link className="btn sm" to={item.link}>
                {item.verb}
              </Link>
            </div>
          </li>
        ))}
      </ol>
    </Question>
  );
}

/** Plans executed lately against their promise; before there are any, what the runs found. */
export function LatelyQuestion({ systems }: { systems: readonly Overview[] }) {
  const outcomes = useQuery(outcomesQuery({ days: OUTCOME_DAYS })).data?.results ?? [];
  if (outcomes.length === 0) return <LatestAllocations systems={systems} />;
  const { judged, kept } = tally(outcomes);
  return (
    <Question title="What changed, and did it help?">
      <div className="big">
        <b>{fixed(outcomes.length)}</b>
        <span>
          {outcomes.length === 1 ? "plan" : "plans"} executed in {OUTCOME_DAYS} days
          {judged > 0 ? `, ${fixed(kept)} of ${fixed(judged)} judged kept the promise` : ""}
        </span>
      </div>
      <table className="tbl bare" aria-label="Executed plans">
        <thead>
          <tr>
            <th scope="col">Plan</th>
            <th className="n" scope="col">
              Promised
            </th>
            <th className="n" scope="col">
              Measured
            </th>
            <th scope="col">
              <span className="vh">Verdict</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {outcomes.slice(0, 4).map((outcome) => {
            const promised = aimOf(outcome);
            const verdict = VERDICTS[outcome.judged];
            return (
              <tr key={outcome.plan}>
                <td className="rest">
                  <Link className="ent" to={to.plan(outcome.plan)} style={{ color: "var(--text)" }}>
                    {outcome.name} {outcome.title}
                  </Link>
                  <div className="faint">
                    {outcome.system_name}, {promised ? `${promised.name}, ` : ""}
                    {ageText(outcome.executed_at)} ago
                  </div>
                  <div className="faint">{outcome.because}</div>
                </td>
                <td className="n faint">
                  {promised ? relativeChange(promised.after, promised.before) : UNKNOWN}
                </td>
                <td className="n strong">
                  {promised && promised.name !== "utility" ? (
                    <Link
                      to={to.plan(outcome.plan)}
                      title="Its page shows what agents measure on links"
                    >
                      see plan
                    </Link>
                  ) : outcome.measured_after !== null ? (
                    relativeChange(outcome.measured_after, outcome.measured_before)
                  ) : (
                    UNKNOWN
                  )}
                </td>
                <td className="n">
                  <Badge tone={verdict.tone} icon={verdict.icon} title={outcome.because}>
                    {verdict.word}
                  </Badge>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <p>
        <Link to={to.promises}>All promises and what became of them</Link>
      </p>
    </Question>
  );
}

export const latestAllocationsQuery = allocationsQuery({ page_size: 4 });

function LatestAllocations({ systems }: { systems: readonly Overview[] }) {
  const latest = useQuery(latestAllocationsQuery);
  const nameOf = (id: string | null) =>
    systems.find((system) => system.id === id)?.name ?? "own problem";
  return (
    <Question title="What did the last runs find?">
      <QueryBody query={latest} what="Allocations" rows={4}>
        {(page) => (
          <>
            <div className="big">
              <b>{fixed(page.count)}</b>
              <span>{page.count === 1 ? "allocation" : "allocations"} so far</span>
            </div>
            {page.results.length === 0 ? null : (
              <table className="tbl bare" aria-label="Latest allocations">
                <thead>
                  <tr>
                    <th scope="col">Allocation</th>
                    <th className="n" scope="col">
                      Utility
                    </th>
                    <th className="n" scope="col">
                      Admitted
                    </th>
                    <th scope="col">
                      <span className="vh">Answer</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {page.results.map((row) => (
                    <tr key={row.id}>
                      <td className="rest">
                        <Link
                          className="ent"
                          to={answerAddress("allocation", row.system, row.id)}
                          style={{ color: "var(--text)" }}
                        >
                          A-{row.number} {nameOf(row.system)}
                        </Link>
                        <div className="faint">
                          R-{row.run_number}, {row.method}, {ageText(row.created_at)} ago
                        </div>
                      </td>
                      <td className="n strong">{fixed(row.utility)}</td>
                      <td className="n faint">
                        {percentText(row.wanted > 0 ? row.admitted / row.wanted : null)}
                      </td>
                      <td className="n">
                        <StateBadge state={row.status} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </>
        )}
      </QueryBody>
    </Question>
  );
}
