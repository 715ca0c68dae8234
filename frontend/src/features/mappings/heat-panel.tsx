/** Users against groups: who filters how much of which group, before and after. */
import { useMemo, useRef, useState } from "react";

import { HeatMap, heightOf } from "./heat-map";
import { heatSteps, stepsText, type HeatSteps } from "./heat-steps";
import {
  allFiltered,
  cellText,
  HEAT_HEAD,
  heatRows,
  rowsText,
  widestText,
  type Place,
} from "./heat-words";

import { useMapHeat, type Heat, type MappingDetail } from "@/api/mappings";
import { ChartPanel, svgText } from "@/components/ui/chart-frame";
import { Segments } from "@/components/ui/page";
import { Empty, Failure, Panel } from "@/components/ui/panel";
import type { Cell } from "@/lib/csv";
import { fixed, rateText, UNKNOWN } from "@/lib/numbers";

const TITLE = "Users against groups";
const POINT = "Point at a cell to read it.";
const MOST_ROWS = 50;
const MOST_COLUMNS = 40;
/** Legend and note, above and below the drawing. */
const AROUND = 42;

const SHOWN = [
  { value: "in_force", label: "In force" },
  { value: "chosen", label: "Chosen" },
] as const;
type Shown = (typeof SHOWN)[number]["value"];

export function HeatPanel({
  mapping,
  map,
  waits,
}: {
  mapping: MappingDetail;
  /** The chosen one. */
  map: string;
  /** Another one is being chosen. */
  waits: boolean;
}) {
  const { id, former_cost: former } = mapping;
  const [shown, setShown] = useState<Shown>("chosen");
  const after = useMapHeat(id, map, MOST_ROWS, MOST_COLUMNS);
  // Both are read, so that the same colour is the same amount before and after.
  const before = useMapHeat(id, former === null ? map : "in_force", MOST_ROWS, MOST_COLUMNS);
  const query = shown === "chosen" ? after : before;
  const switcher =
    former === null ? null : (
      <Segments label="Map shown" value={shown} options={SHOWN} onChange={setShown} />
    );
  const isReady = query.data !== undefined && !before.isPending;
  if (isReady) {
    return (
      <HeatChart
        name={`${mapping.name} users against groups`}
        heat={query.data}
        scale={before.data ?? query.data}
        stale={shown === "chosen" && (waits || query.isPlaceholderData)}
        switcher={switcher}
      />
    );
  }
  return (
    <Panel title={TITLE} right={switcher} footer={query.error ? undefined : POINT} flush>
      {query.error ? (
        <Failure error={query.error} what="What users filter" retry={() => void query.refetch()} />
      ) : (
        <div className="skel late" role="status" aria-label="Loading what users filter">
          <i style={{ height: heightOf(Math.min(mapping.users, MOST_ROWS)) + AROUND }} />
        </div>
      )}
    </Panel>
  );
}

function HeatChart({
  name,
  heat,
  scale,
  stale,
  switcher,
}: {
  name: string;
  heat: Heat;
  /** The map whose amounts the colours and the longest bars are made for. */
  scale: Heat;
  stale: boolean;
  switcher: React.ReactNode;
}) {
  const picture = useRef<SVGSVGElement>(null);
  const [place, setPlace] = useState<Place | null>(null);
  const steps = useMemo(() => heatSteps(allFiltered(scale)), [scale]);
  const rows = useMemo(() => heatRows(heat), [heat]);
  if (heat.rows.length === 0 || heat.groups.length === 0) {
    return (
      <Panel title={TITLE} right={switcher} flush>
        <Empty>No user joined a group of this map: nobody wants a flow that it carries.</Empty>
      </Panel>
    );
  }
  // The map before may have had more rows or columns.
  const isThere =
    place !== null && place.row < heat.rows.length && place.column < heat.groups.length;
  return (
    <ChartPanel
      title={TITLE}
      sub={`unwanted and dropped messages, ${rowsText(heat)}`}
      right={switcher}
      stale={stale}
      data={{ name, head: HEAT_HEAD, rows }}
      svg={() => svgText(picture.current)}
      format={tableText}
      footer={
        <span aria-live="polite">
          {isThere ? cellText(heat, place) : `${POINT} ${widestText(heat)}`}
        </span>
      }
    >
      <Legend steps={steps} />
      <HeatMap
        heat={heat}
        scale={scale}
        steps={steps}
        place={isThere ? place : null}
        onPlace={setPlace}
        picture={picture}
      />
      <p className="heatnote">
        Users from top to bottom, those in the same groups beside each other; each map has an order
        of its own, so that a user may stand in another row in force than chosen. Bars: what is
        filtered of a group, up to {rateText(Math.max(...sums(heat.groups)))} msg/s, and by a row,
        up to {rateText(Math.max(...sums(heat.rows)))} msg/s.
      </p>
    </ChartPanel>
  );
}

const sums = (all: readonly { unwanted_per_s: number }[]) =>
  all.map(({ unwanted_per_s }) => unwanted_per_s);

const tableText = (cell: Cell, column: number) => {
  if (typeof cell !== "number") return cell ?? UNKNOWN;
  return column === 2 ? fixed(cell) : rateText(cell);
};

const Swatch = ({ looks }: { looks: readonly string[] }) => (
  <svg width={14 * looks.length - 2} height="12" aria-hidden="true">
    {looks.map((look, at) => (
      <rect key={look} className={look} x={14 * at} width="12" height="12" rx="2" />
    ))}
  </svg>
);

function Legend({ steps }: { steps: HeatSteps | null }) {
  return (
    <p className="legend heatlegend">
      <span>
        <Swatch looks={["apart"]} />
        not joined
      </span>
      <span>
        <Swatch looks={["w0"]} />
        {steps === null ? "joined, nothing filtered" : "hardly any"}
      </span>
      {steps === null ? null : (
        <span>
          <Swatch looks={["w1", "w2", "w3", "w4"]} />
          {stepsText(steps, "msg/s")}
        </span>
      )}
    </p>
  );
}
