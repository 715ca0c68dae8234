/** What was measured of a system: a quantity over time, as a chart and its latest values. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";

import "./measured.css";

import { LatestTable } from "./latest-table";
import { questionOf, rangeOf, useQuestionAddress } from "./question";
import { QuestionTools } from "./question-tools";
import { SeriesChart } from "./series-chart";
import {
  choicesQuery,
  csvAddress,
  RANGES,
  sumsQuery,
  type Choices,
  type Question,
  type Range,
} from "./sums";
import { isDelay, kindText, QUANTITIES } from "./words";

import { useSystem } from "@/api/systems";
import { Icon } from "@/components/ui/icons";
import { PageHead, Segments } from "@/components/ui/page";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { useCurrentSystemIs } from "@/lib/current-system";
import { to } from "@/lib/kinds";
import { clockText, exactTime } from "@/lib/time";

export default function MeasuredPage() {
  const { systemId = "" } = useParams();
  return <Measured key={systemId} system={systemId} />;
}

const titleOf = ({ quantity, metric, kind }: Question): string => {
  if (metric !== undefined) return metric;
  const { label } = QUANTITIES[quantity];
  return isDelay(quantity) && kind !== undefined ? `${label} ${kindText(kind)}` : label;
};

function Measured({ system }: { system: string }) {
  useCurrentSystemIs(system);
  const name = useSystem(system).data?.name ?? "System";
  const [params, change] = useQuestionAddress();
  const range = rangeOf(params);
  const choices = useQuery(choicesQuery(system, range));
  const question = questionOf(params, choices.data);
  const quantity = question?.quantity ?? "measured";
  const ranges = {
    label: "Time",
    value: range,
    options: Object.entries(RANGES).map(([value, { label }]) => ({ value, label })),
    onChange: (value: string) => change({ range: value }),
  };
  const records = `/systems/${system}/records`;
  return (
    <>
      <PageHead
        title="Measured"
        crumbs={[{ label: name, to: to.system(system) }]}
        commands={
          <Link className="btn" to={records}>
            <Icon name="table" small />
            Records
          </Link>
        }
        plainFacts={<span>what records say was sent, received and measured, minute by minute</span>}
      />
      <div className="main">
        <QuestionTools
          quantity={quantity}
          question={question}
          choices={choices.data}
          onChange={change}
        />
        {question ? (
          <Shown system={system} question={question} choices={choices.data} ranges={ranges} />
        ) : (
          <Panel title={QUANTITIES[quantity].label} right={<Segments {...ranges} />}>
            <QueryBody query={choices} what="The metrics" rows={6}>
              {(known) => <Nothing records={records} choices={known} range={range} />}
            </QueryBody>
          </Panel>
        )}
      </div>
    </>
  );
}

function Nothing({
  records,
  choices,
  range,
}: {
  records: string;
  choices: Choices | undefined;
  range: Range;
}) {
  const last = choices?.last;
  return (
    <Empty
      command={
        <Link className="btn sm" to={records}>
          How records arrive
        </Link>
      }
    >
      {choices && !last
        ? "No records have been summed yet. Agents measure every minute; what was sent and received arrives in batches."
        : `Nothing of this was measured in the last ${RANGES[range].words}.`}
      {last ? (
        <>
          {" "}
          The latest minute with records is{" "}
          <span title={exactTime(last)}>{clockText(last)} UTC</span>.
        </>
      ) : null}
    </Empty>
  );
}

function Shown({
  system,
  question,
  choices,
  ranges,
}: {
  system: string;
  question: Question;
  choices: Choices | undefined;
  ranges: Parameters<typeof Segments>[0];
}) {
  const sums = useQuery(sumsQuery(system, question));
  const title = titleOf(question);
  if (!sums.data || sums.data.series.length === 0) {
    return (
      <Panel title={title} right={<Segments {...ranges} />} stale={sums.isPlaceholderData}>
        <QueryBody query={sums} what="What was measured" rows={8}>
          {() => (
            <Nothing
              records={`/systems/${system}/records`}
              choices={choices}
              range={question.range}
            />
          )}
        </QueryBody>
      </Panel>
    );
  }
  return (
    <>
      <SeriesChart
        sums={sums.data}
        title={title}
        stale={sums.isPlaceholderData}
        right={<Segments {...ranges} />}
      />
      <Panel
        title="Latest values"
        sub={`of the last ${RANGES[question.range].words}`}
        right={
          <a className="btn sm" href={csvAddress(system, question, sums.data)} download>
            <Icon name="download" small />
            CSV
          </a>
        }
        flush
        stale={sums.isPlaceholderData}
      >
        <LatestTable sums={sums.data} />
      </Panel>
    </>
  );
}
