/** One run: how far it is, what it found or why it ended, and everything needed to compute it again. */
import { useQuery } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { Link, useNavigate, useParams } from "react-router";

import { InfeasibilityPanel } from "./infeasibility-panel";
import { figuresOf, shareOf } from "./run-figures";

import { allocationQuery } from "@/api/allocations";
import { useLive } from "@/api/live";
import { usePlansOf } from "@/api/plans";
import { answerOf, ENDED, runQuery, useCancelRun, useRerun, type RunDetail } from "@/api/runs";
import { valueText } from "@/components/ui/audit-trail";
import { Command } from "@/components/ui/command";
import { ConvergenceChart, pointsOf } from "@/components/ui/convergence-chart";
import { ConfirmDialog, Note } from "@/components/ui/dialogs";
import { FigureStrip } from "@/components/ui/figure-strip";
import { Icon } from "@/components/ui/icons";
import { PageHead } from "@/components/ui/page";
import { Panel, QueryBody } from "@/components/ui/panel";
import { PlanLinks } from "@/components/ui/plan-links";
import { Badge, StateBadge } from "@/components/ui/state-badge";
import { tell, tellFailure } from "@/components/ui/toast";
import { UnitNumber } from "@/components/ui/unit-number";
import { computationOf } from "@/lib/computations";
import { useCurrentSystemIs } from "@/lib/current-system";
import { to } from "@/lib/kinds";
import { fixed, UNKNOWN } from "@/lib/numbers";
import { labelOf } from "@/lib/parameters";
import { ageText, clockText, exactTime } from "@/lib/time";
import { methodsText, methodWords } from "@/lib/words";

export default function RunPage() {
  const { id = "" } = useParams();
  const run = useQuery({
    ...runQuery(id),
    // Live news arrive by themselves; this only covers a stream that is away.
    refetchInterval: (query) =>
      query.state.data && ENDED.includes(query.state.data.state) ? false : 5000,
  });
  if (run.data) return <RunView key={id} stored={run.data} />;
  return (
    <>
      <PageHead title="Run" crumbs={[{ label: "Runs", to: to.runs }]} />
      <div className="main">
        <section className="panel">
          <QueryBody query={run} what="This run" rows={6}>
            {() => null}
          </QueryBody>
        </section>
      </div>
    </>
  );
}

/** The stored run with what was heard since it was read. */
function useLatest(stored: RunDetail): RunDetail {
  const news = useLive((all) => all.runs[stored.id]);
  if (!news || ENDED.includes(stored.state)) return stored;
  const newer = (news.progress.iteration ?? -1) >= (stored.progress.iteration ?? -1);
  return {
    ...stored,
    attempt: Math.max(stored.attempt, news.attempt),
    cancel_requested: stored.cancel_requested || news.cancel_requested,
    progress: newer ? news.progress : stored.progress,
    state: ENDED.includes(news.state) || stored.state === "queued" ? news.state : stored.state,
  };
}

/** Commands that their state already names. */
const PLAIN = ["open", "start", "succeed", "find_infeasible", "fail", "cancel"];

function RunView({ stored }: { stored: RunDetail }) {
  const run = useLatest(stored);
  useCurrentSystemIs(run.system);
  const navigate = useNavigate();
  const live = useLive();
  const cancel = useCancelRun();
  const rerun = useRerun();
  const [cancelling, setCancelling] = useState(false);
  const ended = ENDED.includes(run.state);
  const kind = computationOf(run.kind);
  const answer = answerOf(run);
  const answered = answer && computationOf(answer.kind);
  // How an allocation was found is kept with it.
  const found = answer?.kind === "allocation" ? answer.id : null;
  const allocation = useQuery({ ...allocationQuery(found ?? ""), enabled: found !== null });
  const plans = usePlansOf(
    allocation.data?.system ?? null,
    found ?? "",
    allocation.data?.number ?? 0,
  );
  const heard = live.traces[run.id] ?? [];
  const took =
    run.started_at && run.finished_at
      ? (new Date(run.finished_at).getTime() - new Date(run.started_at).getTime()) / 1000
      : null;
  const again = () => {
    rerun.mutate(run.id, {
      onSuccess: (next) => {
        tell(`Started R-${next.number}`, "Same snapshot, method, parameters and seed.");
        void navigate(to.run(next.id));
      },
      onError: (error) => tellFailure("Not started", error),
    });
  };
  const trace = allocation.data?.trace;
  return (
    <>
      <PageHead
        title={`Run R-${run.number}`}
        crumb={`R-${run.number}`}
        crumbs={[{ label: "Runs", to: to.runs }]}
        state={
          <>
            <StateBadge state={run.state} large />
            {run.cancel_requested && !ended ? (
              <Badge tone="warn" icon="ban">
                Cancelling
              </Badge>
            ) : null}
          </>
        }
        waterline={shareOf(run, ended)}
        facts={[
          ...(run.system
            ? [
                {
                  key: "system",
                  icon: "server" as const,
                  text: <Link to={to.topology(run.system)}>{run.system_name}</Link>,
                },
              ]
            : []),
          {
            key: "snapshot",
            icon: "versions",
            text: (
              <>
                {run.model_version === null ? "own problem" : `model v${run.model_version}`}
                {run.demand_estimate_name ? `, demand ${run.demand_estimate_name}` : ""}, snapshot{" "}
                <span className="mono">{run.snapshot_hash.slice(0, 8)}</span>
              </>
            ),
          },
          { key: "method", icon: "play", text: `${methodsText(run.method)}, seed ${run.seed}` },
          { key: "person", icon: "users", text: `asked by ${run.asked_by ?? "Weir"}` },
          ...(plans.length > 0
            ? [{ key: "plans", icon: "plan" as const, text: <PlanLinks plans={plans} /> }]
            : []),
          {
            key: "time",
            icon: "clock",
            text: <span title={exactTime(run.created_at)}>{clockText(run.created_at)} UTC</span>,
          },
        ]}
        commands={
          <>
            {run.allowed_commands.includes("rerun") ? (
              <Command icon="refresh" onClick={again} disabled={rerun.isPending}>
                Run again
              </Command>
            ) : null}
            {run.allowed_commands.includes("cancel") ? (
              <Command
                danger
                icon="ban"
                onClick={() => setCancelling(true)}
                disabled={run.cancel_requested}
                reason="The run is being cancelled."
              >
                Cancel run
              </Command>
            ) : null}
            {answered ? (
              <Link className="btn pri" to={answered.answer(run.system ?? "", answer.id)}>
                <Icon name={answered.icon} small />
                Open {answered.noun}
              </Link>
            ) : null}
          </>
        }
      />
      <div className="main">
        {run.failure ? (
          <Note tone={run.state === "infeasible" ? "warn" : run.state === "failed" ? "bad" : ""}>
            <b>
              {run.state === "infeasible"
                ? `No ${kind?.noun ?? "answer"} fits.`
                : run.state === "failed"
                  ? "The run failed."
                  : "Last attempt:"}
            </b>{" "}
            {run.failure}
          </Note>
        ) : null}
        <FigureStrip
          figures={[
            ...figuresOf(run, kind, ended),
            {
              label: ended ? "Took" : "Running for",
              value: ended ? (
                <UnitNumber value={took} as="duration" />
              ) : run.started_at ? (
                ageText(run.started_at)
              ) : (
                UNKNOWN
              ),
              note: `asked ${clockText(run.created_at)} UTC`,
            },
            {
              label: "Attempt",
              value: fixed(run.attempt),
              note: run.attempt > 1 ? "started again after a loss" : "first",
            },
          ]}
        />
        <div className="cols c-8-4">
          <div className="stack">
            {stored.infeasibility && kind?.Infeasible ? (
              <Suspense fallback={null}>
                <kind.Infeasible run={stored} />
              </Suspense>
            ) : stored.infeasibility && "shortages" in stored.infeasibility ? (
              <InfeasibilityPanel infeasibility={stored.infeasibility} system={run.system} />
            ) : trace && trace.length > 0 ? (
              <ConvergenceChart
                convergence={{
                  name: `R-${run.number}`,
                  points: pointsOf(trace),
                  upperBound: allocation.data?.upper_bound ?? null,
                }}
              />
            ) : heard.length > 1 ? (
              <ConvergenceChart
                convergence={{
                  name: `R-${run.number}`,
                  points: heard,
                  running: !ended,
                }}
              />
            ) : kind?.converges ? (
              <Panel title="Convergence">
                <p className="muted">
                  {ended
                    ? "This run left no trace."
                    : "The chart starts with the first iterations that the job reports."}
                </p>
              </Panel>
            ) : null}
            <Panel title="Parameters" sub={methodWords(run.method).join(", ")}>
              <dl className="kv kvcols">
                {Object.entries(run.parameters)
                  .filter(([name]) => !kind?.shownThere?.includes(name))
                  .map(([name, value]) => (
                    <div key={name}>
                      <dt>{labelOf(name)}</dt>
                      <dd>{valueText(value)}</dd>
                    </div>
                  ))}
                <div>
                  <dt>Seed</dt>
                  <dd>{run.seed}</dd>
                </div>
                <div>
                  <dt>Time limit</dt>
                  <dd>
                    {run.time_limit_s === null ? (
                      "none"
                    ) : (
                      <UnitNumber value={run.time_limit_s} as="duration" />
                    )}
                  </dd>
                </div>
              </dl>
            </Panel>
          </div>
          <div className="stack">
            <Panel title="To compute it again" sub="the same answer to the last bit">
              <dl className="kv">
                <dt>Snapshot</dt>
                <dd className="mono" title={run.snapshot_hash}>
                  {run.snapshot_hash.slice(0, 16)}
                </dd>
                <dt>Result</dt>
                <dd className="mono" title={run.result_hash ?? undefined}>
                  {run.result_hash?.slice(0, 16) ?? UNKNOWN}
                </dd>
                <dt>Kernel</dt>
                <dd>{run.kernel_version || UNKNOWN}</dd>
                <dt>Worker</dt>
                <dd className="mono">{run.worker || UNKNOWN}</dd>
                {run.rerun_of ? (
                  <>
                    <dt>Repeats</dt>
                    <dd>
                      <Link to={to.run(run.rerun_of)}>the run before</Link>
                    </dd>
                  </>
                ) : null}
              </dl>
              <p className="lead" style={{ marginTop: 10 }}>
                <a
                  href={`/api/v1/runs/${run.id}/snapshot`}
                  // A browser shows JSON by itself; of other files it must know the name.
                  download={kind?.snapshot && `R-${run.number}.${kind.snapshot.extension}`}
                >
                  {kind?.snapshot?.label ?? "Problem as JSON"}
                </a>
                {run.result_hash ? (
                  <>
                    {" \u00b7 "}
                    <a href={`/api/v1/runs/${run.id}/result`}>Result as JSON</a>
                  </>
                ) : null}
              </p>
            </Panel>
            <Panel title="Life of the run">
              <ol className="audit">
                {[...stored.events].reverse().map((event) => (
                  <li key={`${event.at}-${event.command}`}>
                    <span className="dot">
                      <Icon name="history" small />
                    </span>
                    <div>
                      <b className="strong">{event.state}</b>
                      {PLAIN.includes(event.command) ? null : (
                        <span className="faint"> {event.command.replaceAll("_", " ")}</span>
                      )}
                      {event.attempt > 1 ? (
                        <span className="faint"> attempt {event.attempt}</span>
                      ) : null}
                      {event.note ? <p>{event.note}</p> : null}
                    </div>
                    <time dateTime={event.at} title={exactTime(event.at)}>
                      {clockText(event.at)}
                    </time>
                  </li>
                ))}
              </ol>
            </Panel>
          </div>
        </div>
      </div>
      <ConfirmDialog
        title={`Cancel run R-${run.number}`}
        command="Cancel run"
        open={cancelling}
        onClose={() => setCancelling(false)}
        run={() => cancel.mutateAsync(run.id)}
      >
        <p>
          The Spark job of R-{run.number} stops within two seconds.{" "}
          {kind?.onCancel ?? "The model stays as it is."}
        </p>
      </ConfirmDialog>
    </>
  );
}
