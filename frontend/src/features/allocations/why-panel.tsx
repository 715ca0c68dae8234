/** Value against price of one consumer: why a class was admitted, admitted in part or refused. */
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { amount, conclusion, levers, question, trialSentence } from "./why";

import {
  admissionTrials,
  explanationQuery,
  type ClassPopulation,
  type Explained,
} from "@/api/allocations";
import { Icon } from "@/components/ui/icons";
import { Failure, Loading, Panel } from "@/components/ui/panel";
import { askAddress } from "@/lib/computations";
import { to } from "@/lib/kinds";
import { fixed, rateText } from "@/lib/numbers";
import { problemOf } from "@/lib/problem";

const ABOUT = "Each with everything else as it is; prices move with capacities, rates and numbers.";
const BAR = 200;
const LEFT = 86;

function Bars({ value, price }: { value: number; price: number }) {
  const largest = Math.max(value, price, 1e-12);
  const width = (of: number) => Math.max(of > 0 ? 2 : 0, (BAR * of) / largest);
  return (
    <svg
      className="chart"
      viewBox="0 0 344 58"
      role="img"
      aria-label={`value ${amount(value)} against price ${amount(price)} of one consumer`}
    >
      <text x="0" y="19">
        Value of one
      </text>
      <text x="0" y="47">
        Price of one
      </text>
      <rect className="trk" x={LEFT} y="8" width={BAR} height="14" rx="2" />
      <rect x={LEFT} y="8" width={width(value)} height="14" rx="2" fill="var(--c1)" />
      <rect className="trk" x={LEFT} y="36" width={BAR} height="14" rx="2" />
      <rect x={LEFT} y="36" width={width(price)} height="14" rx="2" fill="var(--price)" />
      <path d={`M${LEFT + width(value)} 4V54`} stroke="var(--crest)" strokeWidth="1.5" />
      <text className="tt" x="294" y="19">
        {amount(value)}
      </text>
      <text className="tt" x="294" y="47">
        {amount(price)}
      </text>
    </svg>
  );
}

function Sentence({ explained }: { explained: Explained }) {
  const why = explained.explanation;
  const takes = why.needs.filter((need) => need.units_per_s > 0);
  return (
    <p>
      At {rateText(why.rate_per_s)} msg/s one consumer of {why.consumer_class} adds{" "}
      <b>{amount(why.value)} utility</b>
      {takes.length > 0 ? (
        <>
          {" "}
          and takes{" "}
          {takes
            .map((need) => `${amount(need.units_per_s)} ${need.resource} unit/s`)
            .join(" and ")}{" "}
          at {why.node}
          {why.price > 0 ? (
            <>
              , which {takes.length > 1 ? "together " : ""}are worth <b>{amount(why.price)}</b>{" "}
              elsewhere
            </>
          ) : null}
        </>
      ) : null}
      . {conclusion(explained)}
    </p>
  );
}

function Levers({ explained }: { explained: Explained }) {
  const why = explained.explanation;
  const dear = why.needs.filter((need) => need.worth > 0);
  return (
    <dl className="kv" style={{ marginTop: 10 }}>
      {levers(explained).map((lever) => (
        <div key={lever.what} style={{ display: "contents" }}>
          <dt>{lever.what}</dt>
          <dd>
            {lever.value}
            <span className="u">now {lever.now}</span>
          </dd>
        </div>
      ))}
      {dear.length > 1
        ? dear.map((need) => (
            <div key={need.resource} style={{ display: "contents" }}>
              <dt>
                {need.resource} of one at {why.node}
              </dt>
              <dd>
                {amount(need.worth)}
                <span className="u">utility</span>
              </dd>
            </div>
          ))
        : null}
      <dt>Value over price</dt>
      <dd>{why.price > 0 ? fixed(why.value / why.price, 2) : "\u2013"}</dd>
    </dl>
  );
}

/** The levers put to the test: everything solved again with each, which moves prices too. */
function Trials({ allocation, explained }: { allocation: string; explained: Explained }) {
  const why = explained.explanation;
  const asked = useMutation({
    mutationFn: () => admissionTrials(allocation, why.consumer_class),
    retry: false,
  });
  const found = asked.data;
  return (
    <div style={{ marginTop: 10 }} aria-live="polite">
      {found ? (
        <>
          <p>
            <b>Solved again</b>
            {found.trials.length === 0
              ? ": there is nothing to try, room for one more is there already."
              : ""}
          </p>
          {found.trials.map((trial) => (
            <p key={trial.lever}>{trialSentence(why, trial, found.utility_before)}</p>
          ))}
        </>
      ) : (
        <button
          type="button"
          className="btn sm"
          disabled={asked.isPending}
          onClick={() => asked.mutate()}
        >
          <Icon name="refresh" small />
          {asked.isPending ? "Solving again" : "Check by solving again"}
        </button>
      )}
      {asked.error ? (
        <p className="note bad" role="alert">
          {problemOf(asked.error).detail}
        </p>
      ) : null}
    </div>
  );
}

export function WhyPanel({
  allocation,
  system,
  row,
  mayTry = false,
}: {
  allocation: string;
  system: string | null;
  row: ClassPopulation;
  /** Whether one may have it solved again. */
  mayTry?: boolean;
}) {
  const asked = useQuery({
    ...explanationQuery(allocation, row.consumer_class),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const explained =
    asked.data?.explanation.consumer_class === row.consumer_class ? asked.data : undefined;
  const tooLarge = asked.error && problemOf(asked.error).code === "too_large_to_explain";
  return (
    <Panel
      title={
        <>
          Why was {row.consumer_class} {question(row)}?
        </>
      }
      right={`${row.flow} at ${row.node}`}
      className="wraphead"
      footer={
        <>
          {ABOUT}
          {system ? (
            <div>
              <Link
                to={`${to.kind(system, "consumer-classes")}?search=${encodeURIComponent(row.consumer_class)}`}
              >
                {row.consumer_class} in the catalog
              </Link>{" "}
              · <Link to={askAddress("study", system, { allocation })}>Try in what-if</Link>
            </div>
          ) : null}
        </>
      }
    >
      <div className="why" aria-live="polite">
        <Bars value={row.value_of_one} price={row.price_of_one} />
        {explained ? (
          <>
            <Sentence explained={explained} />
            <Levers explained={explained} />
            {mayTry && row.admitted < row.wanted ? (
              <Trials
                key={`${allocation} ${row.consumer_class}`}
                allocation={allocation}
                explained={explained}
              />
            ) : null}
          </>
        ) : tooLarge ? (
          <p>{problemOf(asked.error).detail} Value and price of one are shown above.</p>
        ) : asked.error ? (
          <Failure error={asked.error} what="The explanation" retry={() => void asked.refetch()} />
        ) : (
          <Loading rows={4} label="Loading the explanation" />
        )}
      </div>
    </Panel>
  );
}
