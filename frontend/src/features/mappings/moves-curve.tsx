/** Cost against moves: how much a few moves bring, how little the others; a slider chooses a map. */
import { Fragment, useRef } from "react";

import { curveIn } from "./curve";
import { paceText, durationWords } from "./figures";
import { comparedMap, keptMap, movesOf, type ChosenMap } from "./use-chosen-map";

import type { MappingDetail, MapPoint } from "@/api/mappings";
import { ChartPanel, svgText, type ChartData } from "@/components/ui/chart-frame";
import { Icon } from "@/components/ui/icons";
import { Panel } from "@/components/ui/panel";
import { WhatIfSlider } from "@/components/ui/what-if-slider";
import type { Cell } from "@/lib/csv";
import { amountScale, countText, fixed, percentText, rateText, UNKNOWN } from "@/lib/numbers";
import { useWidth } from "@/lib/width";
import { methodWord } from "@/lib/words";

const TITLE = "How many moves are worth it?";
const HEIGHT = 178;
const [LEFT, RIGHT, TOP, BOTTOM] = [44, 10, 22, 26];
/** A tick's number has so much room on both sides. */
const NUMBER_ROOM = 46;

const HEAD = [
  ...["Map", "Flows moved", "Streams moved", "Newly placed", "Cost work/s", "Transport work/s"],
  ...["Messaging work/s", "Share of the gain, %", "Time to move s", "Pays after s"],
];

const rowOf = (point: MapPoint, place: number): Cell[] => [
  place,
  point.moved,
  point.moved_streams,
  point.placed,
  point.cost,
  point.transport_cost,
  point.messaging_cost,
  point.gain_share === null ? null : point.gain_share * 100,
  point.duration_s,
  point.pays_after_s,
];

const cellText = (cell: Cell, column: number) => {
  if (typeof cell !== "number") return cell ?? UNKNOWN;
  if (column < 4) return fixed(cell);
  return column < 7 ? rateText(cell) : fixed(cell, 1);
};

/** The method that draws a curve where a map is in force. */
const WEIGHS = "joint";

/** Why there is nothing to weigh. */
function whyNoCurve({ former_cost: former, complete, method }: MappingDetail): string {
  if (former === null) {
    return "No map was in force, so there is none to keep: every wanted flow gets its first stream.";
  }
  if (method !== WEIGHS) return `${methodWord(method)} answers with the map that is kept.`;
  return complete
    ? "Nothing is worth a move: no map of more moves was cheaper."
    : "The search was stopped by its time limit before it had weighed fewer and more moves.";
}

/** Why nothing lies between the two maps of a method that weighs no moves. */
const oneMapText = (method: string) =>
  `${methodWord(method)} answers with one map, which stands beside the kept one. "${methodWord(WEIGHS)}" also says what fewer and more moves would cost.`;

/** A curve that was not drawn to its end may not have reached the cheapest. */
const cheapestWord = (mapping: MappingDetail) =>
  comparedMap(mapping, "anew") === undefined ? "cheapest seen" : "cheapest";

export function MovesCurve({ mapping, chosen }: { mapping: MappingDetail; chosen: ChosenMap }) {
  const { points } = mapping.outcome;
  if (points.length < 2) {
    return (
      <Panel title={TITLE}>
        <div className="movescurve">
          <p className="lead">{whyNoCurve(mapping)}</p>
          <Worth mapping={mapping} chosen={chosen} />
        </div>
      </Panel>
    );
  }
  return <Curve mapping={mapping} chosen={chosen} />;
}

function Curve({ mapping, chosen }: { mapping: MappingDetail; chosen: ChosenMap }) {
  const { outcome, wanted_flows: wanted, name } = mapping;
  const { points, proposed } = outcome;
  const { point, place } = chosen;
  const [box, width] = useWidth<HTMLDivElement>(344);
  const picture = useRef<SVGSVGElement>(null);
  const [right, bottom] = [width - RIGHT, HEIGHT - BOTTOM];
  const curve = curveIn(points, { left: LEFT, right, top: TOP, bottom });
  const costs = amountScale(
    points.map(({ cost }) => cost),
    "work/s",
  );
  const at = curve.places[place] ?? { x: LEFT, y: TOP };
  const [first, last] = [points[0], points.at(-1)];
  const cheapest = cheapestWord(mapping);
  const isCheapest = last?.cost === curve.lowest.cost;
  const ofWanted = (moved: number) => `${fixed(moved)} of ${fixed(wanted)}`;
  const proposedPoint = points[proposed] ?? point;
  const data: ChartData = { name: `${name} cost by moves`, head: HEAD, rows: points.map(rowOf) };
  const flip = at.x > width - 70;
  // The name of the lowest line stands where the chosen point does not.
  const isLate = at.x > (LEFT + right) / 2;
  return (
    <ChartPanel
      title={TITLE}
      data={data}
      svg={() => svgText(picture.current)}
      format={cellText}
      below={
        <div className="movescurve">
          {mapping.method === WEIGHS ? null : <p className="lead">{oneMapText(mapping.method)}</p>}
          <WhatIfSlider
            label="Flows to move"
            value={place}
            stored={proposed}
            steps={{ min: 0, max: points.length - 1, step: 1 }}
            unit=""
            text={ofWanted(point.moved)}
            storedText={`Proposed: ${ofWanted(proposedPoint.moved)}`}
            ends={[
              `${fixed(first?.moved)}, keep the map`,
              `${fixed(last?.moved)}${isCheapest ? `, ${cheapest}` : ""}`,
            ]}
            onChange={chosen.choose}
          />
          <Worth mapping={mapping} chosen={chosen} />
          <span>
            <button
              type="button"
              className="btn sm"
              disabled={chosen.isProposed}
              onClick={chosen.reset}
            >
              <Icon name="refresh" small />
              Reset to the proposed
            </button>
          </span>
        </div>
      }
    >
      <div ref={box}>
        <svg
          ref={picture}
          className="chart"
          viewBox={`0 0 ${width} ${HEIGHT}`}
          role="img"
          aria-label={`Cost against moves of flows and streams: ${costs.text(point.cost)} ${costs.unit} after ${countText(movesOf(point), "move")}, ${cheapest} ${costs.text(curve.lowest.cost)} ${costs.unit}`}
        >
          {curve.ticks.map((tick) => (
            <g key={tick.cost}>
              <path className="gridl" d={`M${LEFT} ${tick.y}H${right}`} />
              <text className="tf" x={LEFT - 7} y={tick.y + 4} textAnchor="end">
                {tick.text}
              </text>
            </g>
          ))}
          <text className="tf" x={0} y={10}>
            {curve.unit}
            {curve.isZoomed ? ", not from 0" : ""}
          </text>
          {curve.moves
            .filter(({ x }) => x < right - NUMBER_ROOM - 8)
            .map(({ moves, x }) => (
              <text
                key={moves}
                className="tf"
                x={x}
                y={HEIGHT - 9}
                textAnchor={moves === 0 ? "start" : "middle"}
              >
                {fixed(moves)}
              </text>
            ))}
          <text className="tf" x={right} y={HEIGHT - 9} textAnchor="end">
            moves
          </text>
          <path className="anewline" d={`M${LEFT} ${curve.lowest.y}H${right}`} />
          <path className="costline" d={curve.path} />
          {curve.places.map((one, n) => (
            <circle key={n} className="costpoint" cx={one.x} cy={one.y} r="2.2" />
          ))}
          <text
            className="tf halo"
            x={isLate ? LEFT + 6 : right}
            y={curve.lowest.y + 14}
            textAnchor={isLate ? "start" : "end"}
          >
            {cheapest} {costs.text(curve.lowest.cost)}
          </text>
          <path className="dropline" d={`M${at.x} ${at.y}V${bottom}`} />
          <circle className="chosenpoint" cx={at.x} cy={at.y} r="5" />
          <text
            className="tt halo"
            x={at.x + (flip ? -9 : 9)}
            y={at.y - 8}
            textAnchor={flip ? "end" : "start"}
          >
            {costs.text(point.cost)}
          </text>
        </svg>
      </div>
    </ChartPanel>
  );
}

type Row = { label: string; value: string; unit?: string; isShown?: boolean };

/** What the chosen moves cost and bring. */
function Worth({ mapping, chosen: { point } }: { mapping: MappingDetail; chosen: ChosenMap }) {
  const { outcome, former_cost: former } = mapping;
  const cost = amountScale([point.cost], "work/s");
  const pace = outcome.weights.flows_per_s;
  const isMoved = former !== null;
  const never =
    point === keptMap(mapping) ? "nothing is moved beyond what must be" : "never, it saves nothing";
  const rows: Row[] = [
    { label: "Streams to move", value: fixed(point.moved_streams), isShown: isMoved },
    {
      label: "Flows that get their first stream",
      value: fixed(point.placed),
      isShown: point.placed > 0,
    },
    { label: "Cost after", value: cost.text(point.cost), unit: cost.unit },
    {
      label:
        comparedMap(mapping, "anew") === undefined
          ? "Share of the gain of the cheapest seen"
          : "Share of the possible gain",
      value: percentText(point.gain_share),
      isShown: isMoved,
    },
    {
      label: `Time to ${isMoved ? "move" : "place"}, ${paceText(pace)}`,
      value: durationWords(point.duration_s),
    },
    {
      label: "Pays for itself after",
      value: point.pays_after_s === null ? never : durationWords(point.pays_after_s),
      isShown: isMoved,
    },
  ];
  return (
    <dl className="kv">
      {rows
        .filter(({ isShown = true }) => isShown)
        .map(({ label, value, unit }) => (
          <Fragment key={label}>
            <dt>{label}</dt>
            <dd>
              {value}
              {unit ? <span className="u">{unit}</span> : null}
            </dd>
          </Fragment>
        ))}
    </dl>
  );
}
