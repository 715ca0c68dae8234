/** The overlay at every stop of a plan that moves links; while it runs the picture follows. */
import { useMemo, useState } from "react";

import type { PlanMap } from "./use-plan-map";
import type { PlanTree } from "./use-tree";

import { loadsNow, loadsOfStop, playedBrokers, stopNotes } from "@/components/map/candidate-timeline";
import { Gantt } from "@/components/map/gantt";
import { OverlayPlayer } from "@/components/map/overlay-player";
import { Empty, Failure, Loading, Panel } from "@/components/ui/panel";

export function TreePanels({
  name,
  map,
  tree,
  running,
}: {
  name: string;
  map: PlanMap;
  tree: PlanTree;
  running: boolean;
}) {
  const { timeline, done, candidate, told, traffic } = tree;
  const [picked, setPicked] = useState<number | null>(null);
  const [selected, setSelected] = useState<string | null>(null);
  const last = timeline.stops - 1;
  const stop = Math.min(picked ?? done, last);
  // Where the tree stands while it is carried out, levels are those of now; elsewhere as reckoned.
  const live = running && stop === done && traffic !== undefined;
  const loads = useMemo(
    () => (live ? loadsNow(traffic) : loadsOfStop(candidate, told, traffic, timeline, stop)),
    [live, candidate, told, traffic, timeline, stop],
  );
  const brokers = useMemo(
    () => playedBrokers(map.brokers ?? [], candidate, traffic, loads, stop > 0),
    [map.brokers, candidate, traffic, loads, stop],
  );
  const notes = useMemo(() => (told ? stopNotes(told) : undefined), [told]);
  if (map.error || map.brokers === undefined || map.brokers.length === 0) {
    return (
      <Panel title="Overlay" flush>
        {map.error ? (
          <Failure error={map.error} what="The map" retry={map.retry} />
        ) : map.brokers === undefined ? (
          <Loading rows={8} label="Loading the map" />
        ) : (
          <Empty>The brokers of this plan are no longer in the model.</Empty>
        )}
      </Panel>
    );
  }
  return (
    <>
      <OverlayPlayer
        sub={
          live
            ? `${traffic.source === "measured" ? "as measured" : "by the model"} ${done === 0 ? "before the first step" : `after step ${done}`}`
            : notes
              ? "tanks: broker load; under each step: traffic on links"
              : "tanks: broker load; links at each step"
        }
        brokers={brokers}
        timeline={timeline}
        stop={stop}
        // Back at the step that was done last, the picture follows the execution again.
        onStop={(next) => setPicked(next === done ? null : next)}
        notes={notes}
        traffic={loads.links}
        selected={selected}
        onSelect={setSelected}
        firstLabel={done > 0 ? "Start" : "Now"}
      />
      <div id="gantt" className="stack">
        <Gantt
          steps={timeline.steps}
          at={stop}
          onStop={setPicked}
          bound={candidate?.lower_bound_steps}
          name={name}
        />
      </div>
    </>
  );
}
