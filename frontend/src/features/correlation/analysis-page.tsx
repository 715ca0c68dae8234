/** One correlation analysis: who was judged, what is suggested, and what became of it. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";

import { correlationAt } from "./addresses";
import { JudgedPanel } from "./judged-panel";
import { SuggestionsPanel } from "./suggestions-panel";
import { lengthText, sourceText, windowText } from "./words";

import { analysisQuery, type AnalysisDetail } from "@/api/correlation";
import { useSystem } from "@/api/systems";
import { FigureStrip, type Figure } from "@/components/ui/figure-strip";
import { Icon } from "@/components/ui/icons";
import { PageHead, type Fact } from "@/components/ui/page";
import { QueryBody } from "@/components/ui/panel";
import { useCurrentSystemIs } from "@/lib/current-system";
import { to } from "@/lib/kinds";
import { countText, fixed, percentText } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

const TITLE = "Publishers that burst together";

export default function AnalysisPage() {
  const { id = "", systemId = "" } = useParams();
  useCurrentSystemIs(systemId);
  const analysis = useQuery(analysisQuery(id));
  if (analysis.data) return <AnalysisView key={id} analysis={analysis.data} />;
  return (
    <>
      <PageHead
        title="Analysis"
        crumbs={[{ label: "Correlation", to: correlationAt.list(systemId) }]}
      />
      <div className="main">
        <section className="panel">
          <QueryBody query={analysis} what="This analysis" rows={8}>
            {() => null}
          </QueryBody>
        </section>
      </div>
    </>
  );
}

function factsOf(analysis: AnalysisDetail): Fact[] {
  const { outcome, topic, note } = analysis;
  const from = new Date(outcome.since_s * 1e3);
  const until = new Date(outcome.until_s * 1e3);
  return [
    {
      key: "topic",
      icon: "rss",
      text:
        topic === null ? (
          analysis.topic_name
        ) : (
          <Link to={to.object(analysis.system, "topics", topic)}>{analysis.topic_name}</Link>
        ),
    },
    { key: "source", icon: "broadcast", text: sourceText(analysis) },
    {
      key: "window",
      icon: "clock",
      text: (
        <span title={`${exactTime(from)} to ${exactTime(until)}`}>
          {windowText(outcome.until_s - outcome.since_s)} until {clockText(until)} UTC
        </span>
      ),
    },
    {
      key: "search",
      icon: "target",
      text: `together: within ${lengthText(outcome.search.within_s)}, at least ${percentText(outcome.search.least_share)} of the moments`,
    },
    {
      key: "run",
      icon: "play",
      text: (
        <>
          run <Link to={to.run(analysis.run)}>R-{analysis.run_number}</Link>,{" "}
          <span title={exactTime(analysis.created_at)}>
            {analysis.asked_by ?? "Weir"}, {clockText(analysis.created_at)} UTC
          </span>
        </>
      ),
    },
    ...(note ? [{ key: "note", icon: "info" as const, text: note }] : []),
  ];
}

function figuresOf({ outcome, groups, open, accepted, rejected }: AnalysisDetail): Figure[] {
  const decided = [
    { count: open, word: "open" },
    { count: accepted, word: "accepted" },
    { count: rejected, word: "rejected" },
  ].filter(({ count }) => count > 0);
  return [
    {
      label: "Publishers",
      value: fixed(outcome.publishers),
      note: `sent ${countText(outcome.messages, "message")}`,
    },
    {
      label: "Judged",
      value: fixed(outcome.judged),
      unit: `of ${fixed(outcome.publishers)}`,
      note: outcome.too_few > 0 ? `${fixed(outcome.too_few)} sent too seldom` : "all of them",
    },
    {
      label: "Periodic",
      value: fixed(outcome.periodic),
      unit: `of ${fixed(outcome.judged)}`,
      note: "compared by period and phase",
    },
    {
      label: "Groups",
      value: fixed(groups),
      note: decided.map(({ count, word }) => `${fixed(count)} ${word}`).join(", ") || "none",
    },
  ];
}

function AnalysisView({ analysis }: { analysis: AnalysisDetail }) {
  const { system: systemId, topic } = analysis;
  const system = useSystem(systemId).data;
  return (
    <>
      <PageHead
        title={`${TITLE} on ${analysis.topic_name}`}
        crumb={analysis.name}
        crumbs={[
          { label: system?.name ?? analysis.system_name, to: to.topology(systemId) },
          { label: "Correlation", to: correlationAt.list(systemId) },
        ]}
        state={<span className="tag out">{analysis.name}</span>}
        facts={factsOf(analysis)}
        commands={
          system?.allowed_commands.includes("optimize") ? (
            <Link className="btn" to={correlationAt.ask(systemId, topic === null ? {} : { topic })}>
              <Icon name="burst" small />
              Look again
            </Link>
          ) : null
        }
      />
      <div className="main">
        <FigureStrip figures={figuresOf(analysis)} />
        <JudgedPanel analysis={analysis} />
        <SuggestionsPanel analysis={analysis} />
      </div>
    </>
  );
}
