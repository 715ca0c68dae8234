/** Value against price of one consumer: the sentence that explains an admission or a refusal. */
import { Panel } from "./panel";

import { fixed, priceText, rateText, significant } from "@/lib/numbers";

export type Why = {
  name: string;
  topic: string;
  broker: string;
  rate: number;
  admitted: number;
  wanted: number;
  /** Utility of one consumer at the rate. */
  value: number;
  /** What the resources that one consumer takes are worth elsewhere. */
  cost: number;
  /** Resource units per second that one consumer takes, by resource. */
  work: readonly { resource: string; unitsPerS: number; price: number }[];
  weight?: number | null;
};

const ABOUT = "Prices are those of this run; they move with every capacity, rate and population.";

export function outcomeOf(admitted: number, wanted: number): "all" | "part" | "refused" {
  if (admitted >= wanted) return "all";
  return admitted === 0 ? "refused" : "part";
}

function amount(value: number): string {
  return Math.abs(value) >= 1000 ? fixed(value) : significant(value, 4);
}

function conclusion(why: Why): string {
  const { admitted, wanted, value, cost } = why;
  const outcome = outcomeOf(admitted, wanted);
  if (wanted === 0) return "Nobody wants to join.";
  const areIn = wanted === 1 ? "it is in" : `all ${fixed(wanted)} are in`;
  const stayOut = wanted === 1 ? "it stays out" : `all ${fixed(wanted)} stay out`;
  if (outcome === "all") {
    return cost === 0
      ? `Nothing that it takes is scarce, so ${areIn}.`
      : value >= cost
        ? `It brings more than it costs, so ${areIn}.`
        : `Although the price stands above the value, ${areIn}: the prices of this run lag behind its populations.`;
  }
  if (outcome === "part") {
    return `It sits at the margin: ${fixed(admitted)} of ${fixed(wanted)} fill what room is left.`;
  }
  return value < cost
    ? `It costs more than it brings, so ${stayOut}.`
    : `It would bring more than it costs, but classes that bring more per unit took the room first.`;
}

export function WhyPanel({ why }: { why: Why }) {
  const outcome = outcomeOf(why.admitted, why.wanted);
  const largest = Math.max(why.value, why.cost, 1e-12);
  const bar = (value: number) => Math.max(value > 0 ? 2 : 0, (200 * value) / largest);
  const scarce = why.work.filter((entry) => entry.price > 0);
  const main = [...scarce].sort((a, b) => b.price * b.unitsPerS - a.price * a.unitsPerS)[0];
  const question = { all: "admitted", part: "admitted in part", refused: "refused" }[outcome];
  // What would change it, all else equal: value scales with the weight, cost with the price.
  const ratio = why.cost > 0 ? why.value / why.cost : null;
  return (
    <Panel
      title={
        <>
          Why was {why.name} {question}?
        </>
      }
      right={`${why.topic} at ${why.broker}`}
      className="wraphead"
      footer={ABOUT}
    >
      <div className="why" aria-live="polite">
        <svg
          className="chart"
          viewBox="0 0 344 66"
          role="img"
          aria-label={`value ${amount(why.value)} against price ${amount(why.cost)} of one consumer`}
        >
          <text x="0" y="19">
            Value of one
          </text>
          <text x="0" y="47">
            Price of one
          </text>
          <rect className="trk" x="86" y="8" width="200" height="14" rx="2" />
          <rect x="86" y="8" width={bar(why.value)} height="14" rx="2" fill="var(--c1)" />
          <rect className="trk" x="86" y="36" width="200" height="14" rx="2" />
          <rect x="86" y="36" width={bar(why.cost)} height="14" rx="2" fill="var(--load-5)" />
          <path d={`M${86 + bar(why.value)} 4V54`} stroke="var(--crest)" strokeWidth="1.5" />
          <text className="tt" x="294" y="19">
            {amount(why.value)}
          </text>
          <text className="tt" x="294" y="47">
            {amount(why.cost)}
          </text>
        </svg>
        <p>
          At {rateText(why.rate)} msg/s one consumer of {why.name} adds{" "}
          <b>{amount(why.value)} utility</b>
          {why.work.length > 0 ? " and takes " : null}
          {why.work
            .map((entry) => `${amount(entry.unitsPerS)} ${entry.resource} unit/s`)
            .join(" and ")}
          {why.work.length > 0 ? (
            <>
              {" "}
              at {why.broker}, worth <b>{amount(why.cost)}</b> elsewhere.{" "}
            </>
          ) : (
            ". "
          )}
          {conclusion(why)}
        </p>
        <dl className="kv" style={{ marginTop: 10 }}>
          {ratio !== null && outcome === "refused" && ratio < 1 && why.weight ? (
            <>
              <dt>Admitted when its weight is at least</dt>
              <dd>
                {significant(why.weight / ratio, 3)}
                <span className="u">now {significant(why.weight, 3)}</span>
              </dd>
            </>
          ) : null}
          {ratio !== null && main && why.work.length === 1 ? (
            <>
              <dt>
                {outcome === "refused"
                  ? `Pays when the price at ${why.broker} falls to`
                  : `Refused when the price at ${why.broker} rises to`}
              </dt>
              <dd>
                {priceText(main.price * ratio)}
                <span className="u">now {priceText(main.price)}</span>
              </dd>
            </>
          ) : null}
          <dt>Value over price</dt>
          <dd>{ratio === null ? "\u2013" : fixed(ratio, 2)}</dd>
        </dl>
      </div>
    </Panel>
  );
}
