/** The overlay at every stop of a plan that moves links; while it runs the picture follows. */
import { memo, useMemo, useState } from "react";

import { runningOf } from "./running";
import type { PlanMap } from "./use-plan-map";
import type { PlanTree } from "./use-tree";

import { MOVING, type Execution } from "@/api/plans";
import {
  loadsNow,
  loadsOfStop,
  playedBrokers,
  stopNotes,
} from "@/components/map/candidate-timeline";
import { Gantt } from "@/components/map/gantt";
import { OverlayPlayer, type Running } from "@/components/map/overlay-player";
import { linkName } from "@/components/map/journeys";
import { changeOf } from "@/components/map/timeline";
import { Empty, Failure, Loading, Panel } from "@/components/ui/panel";
import { countText } from "@/lib/numbers";

/** Actions told below the picture; more of them are counted. */
const TOLD = 6;

/** What travels now and what each of it waits for, for those who see no picture, too. */
function OnTheWay({ running }: { running: Running | null }) {
  const open = running?.actions.filter(({ share }) => share < 1) ?? [];
  // Always there while it runs: a line that comes and goes would move the page below it.
  if (open.length === 0) return <p className="onway faint">Nothing is on its way just now.</p>;
  return (
    <ul className="onway" aria-label="On its way now">
      {open.slice(0, TOLD).map(({ move, words }) => {
        const { gone, come } = changeOf(move);
        const [from, to] = [gone && linkName(gone), come && linkName(come)];
        return (
          <li key={`${from} ${to}`}>
            <b>{from ?? to}</b>
            {from && to ? (
              <>
                {" to "}
                <b>{to}</b>
              </>
            ) : null}
            <span>{words}</span>
          </li>
        );
      })}
      {open.length > TOLD ? <li>{countText(open.length - TOLD, "more action")}</li> : null}
    </ul>
  );
}

export const TreePanels = memo(function TreePanels({
  name,
  map,
  tree,
  execution,
}: {
  name: string;
  map: PlanMap;
  tree: PlanTree;
  execution: Execution | undefined;
}) {
  const { timeline, done, candidate, told, traffic } = tree;
  const [picked, setPicked] = useState<number | null>(null);
  const [selected, setSelected] = useState<string | null>(null);
  const last = timeline.stops - 1;
  const stop = Math.min(picked ?? done, last);
  // Where the tree stands while it is carried out, levels are those of now; elsewhere as reckoned.
  const moving = execution !== undefined && MOVING.includes(execution.state);
  const follows = moving && stop === done;
  const live = follows && traffic !== undefined;
  const running = useMemo(
    () => (follows ? runningOf(execution, stop) : null),
    [follows, execution, stop],
  );
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
        running={running}
      >
        {follows ? <OnTheWay running={running} /> : null}
      </OverlayPlayer>
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
});
