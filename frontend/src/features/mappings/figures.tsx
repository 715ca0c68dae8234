/** The five figures of a map, against keeping the one in force. */
import { comparedMap, keptMap, movesOf, type ChosenMap } from "./use-chosen-map";

import type { MappingDetail } from "@/api/mappings";
import { FigureStrip, type Figure } from "@/components/ui/figure-strip";
import {
  amountScale,
  countText,
  durationText,
  fixed,
  percentText,
  relativeChange,
  UNKNOWN,
} from "@/lib/numbers";

export const durationWords = (seconds: number | null): string => {
  const { text, unit } = durationText(seconds);
  return unit === "" ? text : `${text} ${unit}`;
};

/** How fast flows are moved. */
export const paceText = (pace: number) => `${fixed(pace, pace % 1 ? 2 : 0)} flows/s`;

export function Figures({ mapping, chosen }: { mapping: MappingDetail; chosen: ChosenMap }) {
  const { point, isProposed } = chosen;
  const { former_cost: former, random_cost: random, wanted_flows: wanted, outcome } = mapping;
  const inForce = comparedMap(mapping, "in_force");
  const kept = keptMap(mapping);
  const costs = amountScale([former, point.cost], "work/s");
  const messages = amountScale([inForce?.unwanted_per_s, point.unwanted_per_s], "msg/s");
  const whole = (value: number, unit: string) => `${fixed(value, value < 100 ? 2 : 0)} ${unit}`;
  const ofRandom = (cost: number) =>
    random > 0 ? `${percentText(cost / random)} of a random map` : "a random map costs nothing";
  const moves = movesOf(point);
  const figures: Figure[] = [
    former === null
      ? { label: "Cost in force", value: UNKNOWN, note: "no map in force" }
      : {
          label: "Cost in force",
          value: costs.text(former),
          unit: costs.unit,
          title: whole(former, "work/s"),
          note:
            outcome.unmapped > 0
              ? `without ${countText(outcome.unmapped, "flow")} that it does not map`
              : ofRandom(former),
        },
    {
      label: isProposed ? "Cost proposed" : "Cost chosen",
      value: costs.text(point.cost),
      unit: costs.unit,
      title: `${whole(point.cost, "work/s")}, of it transport ${whole(point.transport_cost, "work/s")}`,
      note: (
        <>
          {kept === undefined ? (
            ofRandom(point.cost)
          ) : (
            <>
              <span className={toneOf(point.cost, kept.cost)}>
                {relativeChange(point.cost, kept.cost)}
              </span>
              {kept.cost === former ? "" : " against keeping it"}
            </>
          )}
          {kept === undefined
            ? ""
            : `, transport ${costs.text(point.transport_cost)} ${costs.unit}`}
        </>
      ),
    },
    {
      label: "Unwanted messages",
      value: messages.text(point.unwanted_per_s),
      unit: messages.unit,
      title: whole(point.unwanted_per_s, "msg/s"),
      note:
        inForce === undefined
          ? `${dropped(point.dropped_per_s)} dropped whole`
          : `${messages.text(inForce.unwanted_per_s)} ${messages.unit} in force`,
    },
    former === null
      ? {
          label: "Flows placed",
          value: fixed(point.placed),
          note: `${percentText(wanted > 0 ? point.placed / wanted : 0)} of wanted, none moves`,
        }
      : {
          label: "Flows moved",
          value: fixed(point.moved),
          title: `${countText(point.moved, "wanted flow changes its stream", "wanted flows change their stream")}, ${countText(point.moved_streams, "stream its group", "streams their group")}, ${countText(point.placed, "flow gets its first stream", "flows get their first stream")}`,
          note: [
            `${percentText(wanted > 0 ? point.moved / wanted : 0, 1)} of wanted`,
            countText(point.moved_streams, "stream"),
            ...(point.placed > 0 ? [`${fixed(point.placed)} new`] : []),
          ].join(", "),
        },
    {
      label: former === null ? "Time to place" : "Time to move",
      value: durationText(point.duration_s).text,
      unit: durationText(point.duration_s).unit,
      note: `${paceText(outcome.weights.flows_per_s)}, ${
        former === null
          ? "nothing to pay back"
          : moves + point.placed === 0
            ? "nothing moves"
            : point === kept
              ? "only what must move"
              : point.pays_after_s === null
                ? "saves nothing"
                : `pays after ${durationWords(point.pays_after_s)}`
      }`,
    },
  ];
  return <FigureStrip figures={figures} />;
}

const toneOf = (now: number, before: number) =>
  now < before ? "up" : now > before ? "worse" : undefined;

function dropped(rate: number): string {
  const scale = amountScale([rate], "msg/s");
  return `${scale.text(rate)} ${scale.unit}`;
}
