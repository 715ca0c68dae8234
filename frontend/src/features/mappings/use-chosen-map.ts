/** Which of a mapping's maps the page is about: the proposed one, or another one named in the address. */
import { useSearchParams } from "react-router";

import type { ComparedMap, MappingDetail, MapPoint } from "@/api/mappings";

export type ChosenMap = {
  point: MapPoint;
  /** Of the point among all points. */
  place: number;
  isProposed: boolean;
  /** What the server calls it; empty: the proposed one. */
  map: string;
  choose: (place: number) => void;
  reset: () => void;
};

export function useChosenMap({ outcome }: MappingDetail): ChosenMap {
  const [params, setParams] = useSearchParams();
  const { points, proposed } = outcome;
  const text = params.get("map") ?? "";
  const place = /^\d{1,6}$/.test(text) && Number(text) < points.length ? Number(text) : proposed;
  const point = points[place];
  if (point === undefined) throw new Error("This mapping holds no map.");
  const choose = (next: number) =>
    setParams(
      (old) => {
        const changed = new URLSearchParams(old);
        if (next === proposed) changed.delete("map");
        else changed.set("map", String(next));
        // A page of one map's rows is none of another's.
        for (const name of [...changed.keys()]) if (name.endsWith("cursor")) changed.delete(name);
        return changed;
      },
      { replace: true, preventScrollReset: true },
    );
  const isProposed = place === proposed;
  return {
    ...{ point, place, isProposed, choose },
    map: isProposed ? "" : String(place),
    reset: () => choose(proposed),
  };
}

export const comparedMap = (
  { outcome }: MappingDetail,
  map: ComparedMap["map"],
): ComparedMap | undefined => outcome.compared.find((one) => one.map === map);

/** What a map saves is measured against keeping the one in force: with the flows that it did not
 * map, and without pins that it broke. Undefined where none is in force. */
export const keptMap = ({ former_cost: former, outcome }: MappingDetail): MapPoint | undefined =>
  former === null ? undefined : outcome.points[0];

/** What moves: flows to other streams, streams to other groups. */
export const movesOf = ({ moved, moved_streams }: MapPoint): number => moved + moved_streams;
