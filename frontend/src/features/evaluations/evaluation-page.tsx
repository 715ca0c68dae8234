/** One evaluation: how far it is, its candidates against each other, and the one looked at on the map. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearchParams } from "react-router";

import { evaluationsAt } from "./addresses";
import { CandidatePanels, CandidateSide } from "./candidate-panels";
import { benefitWords, CandidatesTable } from "./candidates-table";
import { horizonText, isToday, pauseText, shareDone } from "./candidate-words";
import { CompareCandidates } from "./compare-candidates";
import { EvaluationCommands } from "./evaluation-commands";
import { MakePlan } from "./make-plan";

import { candidatesQuery, evaluationQuery, type Evaluation } from "@/api/evaluations";
import { ENDED } from "@/api/runs";
import { Note } from "@/components/ui/dialogs";
import { PageHead, type Fact } from "@/components/ui/page";
import { Empty, Failure, Loading, Panel, QueryBody } from "@/components/ui/panel";
import { StateBadge } from "@/components/ui/state-badge";
import { useCurrentSystemIs } from "@/lib/current-system";
import { to } from "@/lib/kinds";
import { countText, fixed, rateText } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

/** While it runs and live news are away, look again this often. */
const LOOK_MS = 2000;

export default function EvaluationPage() {
  const { id = "", systemId = "" } = useParams();
  useCurrentSystemIs(systemId);
  const evaluation = useQuery({
    ...evaluationQuery(id),
    refetchInterval: (query) =>
      query.state.data && ENDED.includes(query.state.data.state) ? false : LOOK_MS,
  });
  if (evaluation.data) return <EvaluationView key={id} evaluation={evaluation.data} />;
  return (
    <>
      <PageHead
        title="Evaluation"
        crumbs={[{ label: "Evaluations", to: evaluationsAt.list(systemId) }]}
      />
      <div className="main">
        <section className="panel">
          <QueryBody query={evaluation} what="This evaluation" rows={8}>
            {() => null}
          </QueryBody>
        </section>
      </div>
    </>
  );
}

function factsOf(evaluation: Evaluation): Fact[] {
  const { traffic, overlay, system, overlay_name: name } = evaluation;
  return [
    {
      key: "overlay",
      icon: "versions",
      text: (
        <>
          from overlay{" "}
          {overlay ? <Link to={to.object(system, "overlays", overlay)}>{name}</Link> : name}
          {evaluation.model_version === null ? "" : `, model v${fixed(evaluation.model_version)}`}
        </>
      ),
    },
    {
      key: "traffic",
      icon: "gauge",
      text: (
        <span title={traffic.detail}>
          {rateText(traffic.published_per_s)} msg/s published,{" "}
          {traffic.source === "measured"
            ? `measured over ${fixed(traffic.window_s)} s`
            : "from the model"}
        </span>
      ),
    },
    { key: "horizon", icon: "hourglass", text: `savings count for ${horizonText(evaluation)}` },
    { key: "pause", icon: "clock", text: pauseText(evaluation) },
    { key: "author", icon: "user", text: evaluation.author ?? "Weir" },
    {
      key: "time",
      icon: "clock",
      text: (
        <span title={exactTime(evaluation.created_at)}>
          asked {clockText(evaluation.created_at)} UTC, run{" "}
          <Link to={to.run(evaluation.run)}>R-{evaluation.run_number}</Link>
        </span>
      ),
    },
  ];
}

function progressWords({ progress, state }: Evaluation): string {
  const { done, total } = progress;
  if (typeof done === "number" && typeof total === "number") {
    return `${fixed(done)} of ${countText(total, "plan")} compared`;
  }
  return state === "queued" ? "waits for a worker" : "designing candidates";
}

function Why({ evaluation }: { evaluation: Evaluation }) {
  if (evaluation.why.length === 0) return null;
  return (
    <Panel title="What is recommended, and why">
      <div className="whytext">
        {evaluation.why.map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
      </div>
    </Panel>
  );
}

function Banner({ evaluation }: { evaluation: Evaluation }) {
  const { state, failure, current } = evaluation;
  if (state === "failed") return <Note tone="bad">The evaluation failed: {failure}</Note>;
  if (state === "infeasible") return <Note tone="warn">No candidate is possible: {failure}</Note>;
  if (state === "cancelled") return <Note>It was cancelled; what is below was found before.</Note>;
  if (ENDED.includes(state) && !current) {
    return (
      <Note tone="warn">
        The model has changed since, so no plan can be made of these candidates. Evaluate again.
      </Note>
    );
  }
  return null;
}

function EvaluationView({ evaluation }: { evaluation: Evaluation }) {
  const [params, setParams] = useSearchParams();
  const ended = ENDED.includes(evaluation.state);
  const candidates = useQuery({
    ...candidatesQuery(evaluation.id),
    refetchInterval: ended ? false : LOOK_MS,
  });
  const rows = candidates.data?.results ?? [];
  const pick = (name: string, id: string) =>
    setParams(
      (old) => {
        const next = new URLSearchParams(old);
        next.set(name, id);
        return next;
      },
      { replace: true },
    );
  const selected =
    rows.find(({ id }) => id === params.get("candidate")) ??
    rows.find(({ id }) => id === evaluation.chosen) ??
    rows.find((row) => !isToday(row)) ??
    rows[0];
  const other =
    rows.find(({ id }) => id === params.get("against") && id !== selected?.id) ??
    rows.find((row) => isToday(row) && row.id !== selected?.id);
  const stale =
    ended && !evaluation.current ? "The model has moved since this evaluation." : undefined;
  return (
    <>
      <PageHead
        title={`${evaluation.name} A better overlay for ${evaluation.system_name}`}
        crumb={evaluation.name}
        crumbs={[
          { label: evaluation.system_name, to: to.topology(evaluation.system) },
          { label: "Evaluations", to: evaluationsAt.list(evaluation.system) },
        ]}
        state={
          <>
            <StateBadge state={evaluation.state} large />
            {ended ? null : <span className="muted">{progressWords(evaluation)}</span>}
          </>
        }
        facts={factsOf(evaluation)}
        waterline={ended ? undefined : shareDone(evaluation)}
        commands={
          <>
            <EvaluationCommands evaluation={evaluation} />
            {selected ? (
              <MakePlan
                key={selected.id}
                candidate={selected}
                reason={isToday(selected) ? undefined : stale}
              />
            ) : null}
          </>
        }
      />
      <div className="main">
        <Banner evaluation={evaluation} />
        <Why evaluation={evaluation} />
        <Panel
          title="Candidates"
          sub={
            rows.length > 0
              ? `${fixed(rows.length)}, best first; ${benefitWords(rows, evaluation)}`
              : undefined
          }
          flush
        >
          {candidates.error ? (
            <Failure
              error={candidates.error}
              what="The candidates"
              retry={() => void candidates.refetch()}
            />
          ) : candidates.data === undefined ? (
            <Loading rows={5} label="Loading the candidates" />
          ) : rows.length === 0 ? (
            <Empty>
              {ended
                ? "This evaluation ended before it had a candidate to show."
                : "Candidates appear here as soon as they are designed and planned."}
            </Empty>
          ) : (
            <CandidatesTable
              candidates={rows}
              selected={selected?.id ?? null}
              onSelect={(id) => pick("candidate", id)}
            />
          )}
        </Panel>
        {selected ? (
          <div className="cols c-plan">
            <div className="stack">
              <CandidatePanels row={selected} name={evaluation.name} />
            </div>
            <div className="stack">
              <CompareCandidates
                evaluation={evaluation}
                candidates={rows}
                selected={selected}
                other={other}
                onOther={(id) => pick("against", id)}
              />
              <CandidateSide row={selected} />
            </div>
          </div>
        ) : null}
      </div>
    </>
  );
}
