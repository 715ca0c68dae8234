/** One study: its progress, its answers as they come, and what they say. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link, useParams, useSearchParams } from "react-router";

import { studiesAt } from "./addresses";
import { ComparePanel, HoldAgainst } from "./compare-panel";
import { methodsOf, troubles } from "./points";
import { PointsPanel } from "./points-panel";
import type { Spec } from "./spec";
import { StudyCommands } from "./study-commands";
import { figuresOf } from "./study-figures";
import { Pictures } from "./study-pictures";

import { ENDED } from "@/api/runs";
import { pointsQuery, studyQuery, type StudyDetail, type StudyPoint } from "@/api/studies";
import { Note } from "@/components/ui/dialogs";
import { FigureStrip } from "@/components/ui/figure-strip";
import { PageHead } from "@/components/ui/page";
import { Panel, QueryBody } from "@/components/ui/panel";
import { Badge, StateBadge } from "@/components/ui/state-badge";
import { answerAddress } from "@/lib/computations";
import { useCurrentSystemIs } from "@/lib/current-system";
import { to } from "@/lib/kinds";
import { countText, fixed } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

/** While live news are away, look again this often. */
const LOOK_MS = 2000;

export default function StudyPage() {
  const { id = "" } = useParams();
  const study = useQuery({
    ...studyQuery(id),
    refetchInterval: (query) =>
      query.state.data && ENDED.includes(query.state.data.state) ? false : LOOK_MS,
  });
  if (study.data) return <StudyView key={id} study={study.data} />;
  return (
    <>
      <PageHead title="Study" />
      <div className="main">
        <section className="panel">
          <QueryBody query={study} what="This study" rows={6}>
            {() => null}
          </QueryBody>
        </section>
      </div>
    </>
  );
}

function StudyView({ study }: { study: StudyDetail }) {
  useCurrentSystemIs(study.system);
  const ended = ENDED.includes(study.state);
  const points = useQuery({
    ...pointsQuery(study, ended),
    placeholderData: keepPreviousData,
  });
  const spec = study.spec as unknown as Spec;
  const facts = [
    {
      key: "model",
      icon: "versions" as const,
      text: (
        <>
          {study.allocation === null ? null : (
            <>
              snapshot of{" "}
              <Link to={answerAddress("allocation", study.system, study.allocation)}>
                A-{study.allocation_number}
              </Link>
              ,{" "}
            </>
          )}
          model v{fixed(study.model_version)},{" "}
          <span className="mono">{study.snapshot_hash.slice(0, 8)}</span>
        </>
      ),
    },
    {
      key: "run",
      icon: "play" as const,
      text: (
        <>
          <Link to={to.run(study.run)}>R-{study.run_number}</Link>, {methodsOf(spec).join(", ")}
        </>
      ),
    },
    { key: "author", icon: "users" as const, text: `asked by ${study.author ?? "Weir"}` },
    {
      key: "time",
      icon: "clock" as const,
      text: <span title={exactTime(study.created_at)}>{clockText(study.created_at)} UTC</span>,
    },
  ];
  return (
    <>
      <PageHead
        title={`W-${study.number} ${study.name}`}
        crumb={`W-${study.number}`}
        crumbs={[
          { label: study.system_name, to: to.topology(study.system) },
          { label: "What-if", to: studiesAt.list(study.system) },
        ]}
        state={
          <>
            <StateBadge state={study.state} large />
            {study.cancel_requested && !ended ? (
              <Badge tone="warn" icon="ban">
                Cancelling
              </Badge>
            ) : null}
          </>
        }
        waterline={study.points_done / Math.max(1, study.points_total)}
        facts={facts}
        commands={<StudyCommands study={study} />}
      />
      <div className="main">
        {study.failure ? (
          <Note tone={study.state === "failed" ? "bad" : "warn"}>
            <b>{study.state === "failed" ? "The study failed." : "Last attempt:"}</b>{" "}
            {study.failure}
          </Note>
        ) : null}
        <QueryBody query={points} what="Answers" rows={8}>
          {(rows) => <Results study={study} spec={spec} points={rows} ended={ended} />}
        </QueryBody>
      </div>
    </>
  );
}

function Results({
  study,
  spec,
  points,
  ended,
}: {
  study: StudyDetail;
  spec: Spec;
  points: StudyPoint[];
  ended: boolean;
}) {
  const strip = useMemo(() => figuresOf(study, spec, points), [study, spec, points]);
  const name = `W-${study.number}`;
  const [address, setAddress] = useSearchParams();
  const against = address.get("against") ?? "";
  const other = useOther(against);
  const choose = (id: string) =>
    setAddress(id ? { against: id } : {}, { replace: true, preventScrollReset: true });
  return (
    <>
      <FigureStrip figures={strip} />
      {troubles(points).map((trouble) => (
        <Note key={trouble.status} tone={trouble.status === "failed" ? "bad" : "warn"}>
          <b>
            {countText(trouble.count, "scenario")} {trouble.status}.
          </b>{" "}
          The first: {trouble.reason}
        </Note>
      ))}
      {points.length === 0 ? (
        <Panel title="Answers">
          <p className="muted">
            {ended
              ? "No answer was found before the study ended."
              : "The first answers appear here while the others are still computed."}
          </p>
        </Panel>
      ) : (
        <>
          <Pictures
            spec={spec}
            points={points}
            other={other?.spec.kind === "sweep" ? { ...other, spec: other.spec } : null}
            name={name}
            running={!ended}
          />
          <div className="holdagainst">
            <HoldAgainst study={study} value={against} onChange={choose} />
          </div>
          {other ? <ComparePanel name={name} points={points} held={other} /> : null}
          <PointsPanel id={study.id} spec={spec} points={points} />
        </>
      )}
    </>
  );
}

/** The study that this one is held against, once its answers are here. */
function useOther(id: string) {
  const study = useQuery({ ...studyQuery(id), enabled: id !== "" });
  const ended = study.data ? ENDED.includes(study.data.state) : true;
  const points = useQuery({
    ...pointsQuery(study.data ?? { id, run: "", points_total: 0 }, ended),
    enabled: study.data !== undefined,
  });
  return useMemo(
    () =>
      id !== "" && study.data && points.data
        ? {
            id,
            name: `W-${study.data.number}`,
            spec: study.data.spec as unknown as Spec,
            points: points.data,
          }
        : null,
    [id, study.data, points.data],
  );
}
