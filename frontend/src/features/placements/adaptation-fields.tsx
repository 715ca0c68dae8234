/** The part of the plan's dialog that lets parts follow the traffic: a switch, and how they follow. */
import type { AdaptationOrder } from "@/api/adaptation";
import { CheckField, NumberField, parseNumber } from "@/components/ui/fields";
import { messageFor, type FieldProblem } from "@/lib/problem";

/** As typed; the floor in percent of the bucket. */
export type Draft = { isOn: boolean; window: string; period: string; floor: string };
export type Refused = Partial<Record<"window" | "period" | "floor", string>>;

export const DEFAULTS: AdaptationOrder = { window_s: 10, period_s: 1, least_share: 0.02 };

/** Digits of a share as a percentage, without what binary fractions leave. */
const plain = (value: number) => String(Number(value.toPrecision(12)));

export const draftOf = (order: AdaptationOrder | null, isOn: boolean): Draft => {
  const { window_s, period_s, least_share } = order ?? DEFAULTS;
  return {
    isOn,
    window: plain(window_s),
    period: plain(period_s),
    floor: plain(least_share * 100),
  };
};

function outside(text: string, least: number, most: number, unit: string): string | undefined {
  const value = parseNumber(text);
  return typeof value !== "number" || value < least || value > most
    ? `A number from ${least} to ${most}\u00a0${unit}.`
    : undefined;
}

/** What is wrong with which field. */
export function refusedOf({ window, period, floor }: Draft): Refused {
  const refused: Refused = {};
  const wrongWindow = outside(window, 2, 300, "s");
  if (wrongWindow) refused.window = wrongWindow;
  const wrongPeriod = outside(period, 1, 60, "s");
  if (wrongPeriod) refused.period = wrongPeriod;
  else if (!wrongWindow && Number(parseNumber(period)) > Number(parseNumber(window)))
    refused.period = "Not longer than the history.";
  const wrongFloor = outside(floor, 0, 20, "%");
  if (wrongFloor) refused.floor = wrongFloor;
  return refused;
}

/** What is asked for; only of a draft of which nothing is refused. */
export const orderOfDraft = ({ window, period, floor }: Draft): AdaptationOrder => ({
  window_s: Number(parseNumber(window)),
  period_s: Number(parseNumber(period)),
  least_share: Number((Number(parseNumber(floor)) / 100).toPrecision(12)),
});

export function AdaptationFields({
  draft,
  onChange,
  errors,
}: {
  draft: Draft;
  onChange: (draft: Draft) => void;
  /** Of the server, by the names of the API. */
  errors: readonly FieldProblem[];
}) {
  const refused = refusedOf(draft);
  const set = (change: Partial<Draft>) => onChange({ ...draft, ...change });
  return (
    <>
      <CheckField
        label="Adapt the parts to traffic while they are in force"
        hint="Rate and size move between brokers as publishers send; the sums stay. Operators can stop it at any time."
        value={draft.isOn}
        onChange={(isOn) => set({ isOn })}
        error={messageFor(errors, "adaptation")}
      />
      {draft.isOn ? (
        <div className="three">
          <NumberField
            label="History"
            hint="What decides."
            unit="s"
            value={draft.window}
            onChange={(window) => set({ window })}
            error={refused.window ?? messageFor(errors, "adaptation.window_s")}
          />
          <NumberField
            label="Period"
            hint="Between two decisions."
            unit="s"
            value={draft.period}
            onChange={(period) => set({ period })}
            error={refused.period ?? messageFor(errors, "adaptation.period_s")}
          />
          <NumberField
            label="Floor"
            hint="Of the bucket: an idle broker keeps it where demand leaves enough, and at least a tenth of it."
            unit="%"
            value={draft.floor}
            onChange={(floor) => set({ floor })}
            error={refused.floor ?? messageFor(errors, "adaptation.least_share")}
          />
        </div>
      ) : null}
    </>
  );
}
