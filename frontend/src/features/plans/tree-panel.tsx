/** The overlay at every stop of a plan that moves links; while it runs the picture follows. */
import { useMemo, useState } from "react";

import type { PlanMap } from "./use-plan-map";
import type { PlanTree } from "./use-tree";

import { playedBrokers, stopNotes, trafficAt } from "@/components/map/candidate-timeline";
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
  const { timeline, done, candidate, traffic } = tree;
  const [picked, setPicked] = useState<number | null>(null);
  const [selected, setSelected] = useState<string | null>(null);
  const last = timeline.stops - 1;
  const stop = Math.min(picked ?? done, last);
  const atGoal = stop === last && last > 0;
  const brokers = useMemo(
    () => playedBrokers(map.brokers ?? [], candidate, atGoal),
    [map.brokers, candidate, atGoal],
  );
  const busy = useMemo(() => trafficAt(candidate, traffic, atGoal), [candidate, traffic, atGoal]);
  const notes = useMemo(() => (candidate ? stopNotes(candidate) : undefined), [candidate]);
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
          running
            ? `as it stands after ${done === 0 ? "no step yet" : `step ${done}`}`
            : candidate
              ? "tanks: broker load; under each step: traffic on links"
              : "links at each step"
        }
        brokers={brokers}
        timeline={timeline}
        stop={stop}
        // Back at the step that was done last, the picture follows the execution again.
        onStop={(next) => setPicked(next === done ? null : next)}
        notes={notes}
        traffic={busy}
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
