/** Each broker's part in force beside what is asked of it now, and what it measures. */
import { rateMove, sizeMove, sizeText, sumsOf, partText, type Change } from "./adaptation";
import { colourOfBroker, foldedOf } from "./adaptation-bands";

import type { Adaptation, AdaptedPart } from "@/api/adaptation";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
import { Badge } from "@/components/ui/state-badge";
import { fixed, rateText, UNKNOWN } from "@/lib/numbers";

const unknown = <span className="faint">{UNKNOWN}</span>;

/** "+3.10 more": a sign and a word beside the colour. */
export function ChangeText({ change, same }: { change: Change; same?: string }) {
  if (change.tone === "same") return <span className="same">{same ?? change.word}</span>;
  return (
    <span className={`nowrap ${change.tone}`}>
      {change.text} <span className="word">{change.word}</span>
    </span>
  );
}

function Confirmation({ part }: { part: AdaptedPart }) {
  if (part.is_silent)
    return (
      <Badge
        tone="warn"
        icon="clockx"
        title="Its agent does not report: its part stays as it is, the others share the rest."
      >
        silent
      </Badge>
    );
  return part.is_confirmed ? (
    <Badge tone="good" icon="check" title="The agent enforces what is asked of it.">
      confirmed
    </Badge>
  ) : (
    <Badge tone="waits" icon="hourglass" title="The agent has not confirmed this part yet.">
      waiting for confirmation
    </Badge>
  );
}

const number = (
  key: string,
  title: string,
  unit: string | undefined,
  cell: (part: AdaptedPart) => React.ReactNode,
  strong = false,
): Column<AdaptedPart> => ({ key, title, unit, number: true, strong, cell });

const measuredRate = (value: number) => (value === 0 ? "0" : rateText(value));

function columnsOf(adaptation: Adaptation): Column<AdaptedPart>[] {
  const bands = foldedOf(adaptation);
  const { window_s: window } = adaptation;
  const lately = window === null ? "lately" : `over the last ${fixed(window, 0)}\u00a0s`;
  return [
    {
      key: "broker",
      title: "Broker",
      cell: ({ broker }) => (
        <>
          <svg className="swatch" width="10" height="10" aria-hidden="true">
            <rect width="10" height="10" rx="2" fill={`var(--${colourOfBroker(bands, broker)})`} />
          </svg>{" "}
          <span className="ent">{broker}</span>
        </>
      ),
    },
    { key: "state", title: "State", cell: (row) => <Confirmation part={row} /> },
    number("r-force", "r in force", "tokens/s", (row) => rateText(row.in_force_rate_per_s)),
    number("r", "r now", "tokens/s", (row) => rateText(row.rate_per_s), true),
    number("r-change", "Change\u00a0of\u00a0r", undefined, (row) => (
      <ChangeText change={rateMove(row.rate_per_s, row.in_force_rate_per_s)} />
    )),
    number("b-force", "b in force", "tokens", (row) => sizeText(row.in_force_size)),
    number("b", "b now", "tokens", (row) => sizeText(row.size), true),
    number("b-change", "Change\u00a0of\u00a0b", undefined, (row) => (
      <ChangeText change={sizeMove(row.size, row.in_force_size)} />
    )),
    number("offered", "Offered", "msg/s", (row) =>
      row.offered_per_s === null ? (
        unknown
      ) : (
        <span title={`What publishers sent: the mean ${lately}.`}>
          {measuredRate(row.offered_per_s)}
        </span>
      ),
    ),
    number("waiting", "Waiting", "msg", (row) =>
      row.waiting === null ? unknown : fixed(row.waiting),
    ),
    number("work", "Unfinished work, peak", "msg", (row) =>
      row.work_peak === null ? (
        unknown
      ) : (
        <span
          title={`Tokens missing from the bucket and messages that wait for one: the most ${lately}.`}
        >
          {fixed(row.work_peak, 1)}
        </span>
      ),
    ),
  ];
}

function Sum({ adaptation }: { adaptation: Adaptation }) {
  const { rate, size, rateInForce, sizeInForce } = sumsOf(adaptation);
  const cell = (text: string) => <td className="n">{text}</td>;
  return (
    <tr>
      <td>Sum</td>
      <td />
      {cell(rateText(rateInForce))}
      {cell(rateText(rate))}
      <td />
      {cell(sizeText(sizeInForce))}
      {cell(sizeText(size))}
      <td colSpan={4} />
    </tr>
  );
}

export function AdaptedParts({ adaptation }: { adaptation: Adaptation }) {
  return (
    <DataTable
      label="Adapted parts"
      columns={columnsOf(adaptation)}
      rows={adaptation.parts}
      rowKey={(row) => row.broker}
      foot={<Sum adaptation={adaptation} />}
    />
  );
}

const SLACK = 1e-9;
/** What decimals leave of a difference is nothing that waits. */
const NOISE = 1e-6;

/** Whether the parts add up to the contract: less while brokers confirm, never more. */
export function Conservation({ adaptation }: { adaptation: Adaptation }) {
  const { contract, because } = adaptation;
  if (contract === null) return null;
  const { rate, size } = sumsOf(adaptation);
  const { token_rate_per_s: most, bucket } = contract;
  const whole = partText(most, bucket);
  if (rate > most * (1 + SLACK) || size > bucket * (1 + SLACK))
    return (
      <span className="worse">
        <Icon name="alert" small /> The parts add up to {partText(rate, size)}, more than the
        contract of {whole}.
      </span>
    );
  if (rate < most * (1 - NOISE) || size < bucket * (1 - NOISE))
    return (
      <span>
        The parts add up to {partText(rate, size)} of {whole}.{" "}
        {because || "No broker gets more before all that shrink have confirmed."}
      </span>
    );
  return <span>The parts add up to {whole}, the contract.</span>;
}
