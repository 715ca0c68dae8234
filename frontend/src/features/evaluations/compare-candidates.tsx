/** Two candidates side by side: the same figures in the same rows, and what one has over the other. */
import { horizonText, titleOf } from "./candidate-words";

import type { Candidate, Evaluation } from "@/api/evaluations";
import { ChoiceField } from "@/components/ui/fields";
import { Panel } from "@/components/ui/panel";
import { fixed, percentText, signed } from "@/lib/numbers";

type Row = {
  label: string;
  unit?: string;
  of: (candidate: Candidate) => number | null;
  show: (value: number | null) => string;
  better: "up" | "down";
  decimals?: number;
  by?: number;
};

const seconds = (value: number | null) => fixed(value, 2);

/** Three numbers stand in a narrow column: long ones in thousands, millions or thousand millions. */
function short(value: number | null, decimals = 0, show = fixed): string {
  const size = Math.abs(value ?? 0);
  if (value === null || size < 9999.5) return show(value, decimals);
  if (size < 999_950) return `${show(value / 1000, 1)} k`;
  return size < 999.95e6 ? `${show(value / 1e6, 1)} M` : `${show(value / 1e9, 2)} G`;
}

const whole = (value: number | null) => short(value);

function Change({
  by,
  better,
  decimals,
}: {
  by: number | null;
  better: Row["better"];
  decimals: number;
}) {
  const text = short(by, decimals, signed);
  const flat = by === null || text === "\u00b10";
  const good = (better === "up") === (by ?? 0) > 0;
  return <span className={flat ? "same" : good ? "up" : "worse"}>{text}</span>;
}

function rowsOf(evaluation: Evaluation): Row[] {
  return [
    {
      label: "Routing cost",
      unit: "/s",
      of: (c) => c.routing_cost_per_s,
      show: whole,
      better: "down",
    },
    {
      label: "Traffic on links",
      unit: "msg/s",
      of: (c) => c.traffic_per_s,
      show: whole,
      better: "down",
    },
    { label: "Messages in flight", of: (c) => c.in_flight, show: whole, better: "down" },
    {
      label: "Busiest broker",
      of: (c) => c.busiest_share,
      show: (value) => percentText(value),
      better: "down",
      by: 0.01,
      unit: "pt",
    },
    { label: "Most links at a broker", of: (c) => c.max_degree, show: whole, better: "down" },
    { label: "New links", of: (c) => c.links_changed, show: whole, better: "down" },
    { label: "Actions", of: (c) => c.actions, show: whole, better: "down" },
    { label: "Steps", of: (c) => c.steps_count, show: whole, better: "down" },
    {
      label: "Pauses, at least",
      unit: "s",
      of: (c) => c.pause_s,
      show: seconds,
      better: "down",
      decimals: 2,
    },
    { label: "Messages held", of: (c) => c.held_messages, show: whole, better: "down" },
    {
      label: "Disturbs subscribers",
      of: (c) => c.disturbed_subscribers,
      show: whole,
      better: "down",
    },
    {
      label: `Net benefit, ${horizonText(evaluation)}`,
      of: (c) => c.net_benefit,
      show: (value) => short(value, 0, signed),
      better: "up",
    },
  ];
}

export function CompareCandidates({
  evaluation,
  candidates,
  selected,
  other,
  onOther,
}: {
  evaluation: Evaluation;
  candidates: readonly Candidate[];
  selected: Candidate;
  other: Candidate | undefined;
  onOther: (id: string) => void;
}) {
  const choices = candidates.filter(({ id }) => id !== selected.id);
  const against = other ?? choices[0];
  if (!against) return null;
  return (
    <Panel title="Side by side" flush className="wraphead">
      <div className="comparehead">
        <ChoiceField
          label={`${titleOf(selected)} against`}
          required
          options={choices.map((one) => ({ value: one.id, label: titleOf(one) }))}
          value={against.id}
          onChange={onOther}
        />
      </div>
      <table className="tbl sides" aria-label={`${titleOf(selected)} against ${titleOf(against)}`}>
        <thead>
          <tr>
            <th scope="col">Figure</th>
            <th className="n" scope="col" title={titleOf(selected)}>
              This
            </th>
            <th className="n" scope="col" title={titleOf(against)}>
              Other
            </th>
            <th className="n" scope="col">
              Change
            </th>
          </tr>
        </thead>
        <tbody>
          {rowsOf(evaluation).map(({ label, unit, of, show, better, decimals = 0, by = 1 }) => {
            const [mine, theirs] = [of(selected), of(against)];
            return (
              <tr key={label}>
                <td>
                  {label}
                  {unit && unit !== "pt" ? <span className="u">{unit}</span> : null}
                </td>
                <td className="n strong">{show(mine)}</td>
                <td className="n faint">{show(theirs)}</td>
                <td className="n">
                  <Change
                    by={mine === null || theirs === null ? null : (mine - theirs) / by}
                    decimals={decimals}
                    better={better}
                  />
                  {unit === "pt" ? <span className="u">pt</span> : null}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Panel>
  );
}
