/** What a map costs at both layers, on one scale: random, flat, in force, chosen, cheapest. */
import { useRef } from "react";

import { LAYER_HEAD, LayerBars, layerRows, layerScale, type LayerBar } from "./layer-bars";
import { comparedMap, type ChosenMap } from "./use-chosen-map";

import type { MappingDetail } from "@/api/mappings";
import { ChartPanel, svgText } from "@/components/ui/chart-frame";
import { countText, rateText, UNKNOWN } from "@/lib/numbers";

const NAMES = { random: "Random", flat: "Flat", in_force: "In force", anew: "Cheapest" } as const;

function barsOf(mapping: MappingDetail, { point, isProposed }: ChosenMap): LayerBar[] {
  const compared = (map: keyof typeof NAMES): LayerBar[] => {
    const one = comparedMap(mapping, map);
    return one === undefined ? [] : [{ ...one, name: NAMES[map], isChosen: false }];
  };
  return [
    ...compared("random"),
    ...compared("flat"),
    ...compared("in_force"),
    { ...point, name: isProposed ? "Proposed" : "Chosen", isChosen: true },
    ...compared("anew"),
  ];
}

/** What a bar leaves out, and why one is not there. */
function notesOf(mapping: MappingDetail): string | undefined {
  const { unmapped } = mapping.outcome;
  const notes = [
    ...(comparedMap(mapping, "flat") === undefined
      ? ["Flat: not computed, no time or memory was left for it."]
      : []),
    ...(unmapped > 0 && mapping.former_cost !== null
      ? [`In force: without ${countText(unmapped, "flow")} that it does not map.`]
      : []),
  ];
  return notes.length > 0 ? notes.join(" ") : undefined;
}

export function CostLayers({ mapping, chosen }: { mapping: MappingDetail; chosen: ChosenMap }) {
  const picture = useRef<SVGSVGElement>(null);
  const bars = barsOf(mapping, chosen);
  return (
    <ChartPanel
      title="Cost by layer"
      sub={layerScale(bars).unit}
      data={{ name: `${mapping.name} cost by layer`, head: LAYER_HEAD, rows: layerRows(bars) }}
      svg={() => svgText(picture.current)}
      format={(cell) => (typeof cell === "number" ? rateText(cell) : (cell ?? UNKNOWN))}
      footer={notesOf(mapping)}
    >
      <LayerBars bars={bars} picture={picture} />
    </ChartPanel>
  );
}
