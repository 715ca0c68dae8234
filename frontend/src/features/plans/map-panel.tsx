/** The overlay at every stop of the scrubber: levels of the brokers, links on their way, limits in force. */
import { lazy, Suspense, useMemo, useState } from "react";

import { Scrubber, type Stop } from "./scrubber";
import {
  edgesAt,
  hasTree,
  loadsAt,
  ratesAt,
  settingsAt,
  stepsDone,
  stopsOf,
  type EdgePhase,
} from "./step-view";
import type { PlanMap } from "./use-plan-map";

import type { Execution, PlanDetail } from "@/api/plans";
import type { MapEdge } from "@/components/map/broker-map";
import { placesOf } from "@/components/map/places";
import { LoadLegend } from "@/components/ui/bars";
import { Empty, Failure, Loading, Panel } from "@/components/ui/panel";
import { countText, fixed, percentText, rateText } from "@/lib/numbers";

const BrokerMap = lazy(() => import("@/components/map/broker-map"));

const LOOKS: Record<EdgePhase, { word: string; colour: string; line: MapEdge["line"]; dash: string }> = {
  stays: { word: "stays", colour: "line-2", line: "solid", dash: "" },
  leaves: { word: "will leave", colour: "before", line: "dashed", dash: "7 4" },
  moving: { word: "on its way", colour: "moving", line: "dashdot", dash: "8 3 2 3" },
  goal: { word: "goal", colour: "after", line: "dotted", dash: "1 4" },
  placed: { word: "in place", colour: "after", line: "solid", dash: "" },
};

function PhaseLegend() {
  return (
    <div className="legend">
      {Object.values(LOOKS).map(({ word, colour, dash }) => (
        <span key={word}>
          <svg width="22" height="10" aria-hidden="true">
            <path
              d="M0 5H22"
              stroke={`var(--${colour})`}
              strokeWidth={word === "goal" ? 2 : 3}
              strokeDasharray={dash}
              strokeLinecap={word === "goal" ? "round" : "butt"}
            />
          </svg>
          {word}
        </span>
      ))}
    </div>
  );
}

/** More limits than this are shown on demand. */
const LIMITS = 12;

/** The limits of one broker at a stop; what a step before has changed is marked. */
function AtBroker({ plan, broker, stop }: { plan: PlanDetail; broker: string; stop: number }) {
  const [all, setAll] = useState(false);
  const settings = settingsAt(plan, stop, broker);
  const shown = all ? settings : settings.slice(0, LIMITS);
  const label = stop === 0 ? "now" : `after step ${stop}`;
  return (
    <div className="atbroker" aria-live="polite">
      <h3>
        Limits at {broker} {label}
      </h3>
      {settings.length === 0 ? (
        <p className="muted">This plan changes no limit at {broker}.</p>
      ) : (
        <ul>
          {shown.map((setting) => (
            <li key={setting.key} className={setting.changed ? "changed" : undefined}>
              <span className="what" title={setting.name}>
                {setting.name}
              </span>
              <span className={`tag ${setting.changed ? "after" : "out"}`}>
                {setting.changed ? `set in step ${setting.step + 1}` : `step ${setting.step + 1}`}
              </span>
              <span className="r">
                {setting.value === null ? (
                  "no limit"
                ) : (
                  <>
                    {setting.unit === "msg/s" ? rateText(setting.value) : fixed(setting.value)}
                    <span className="u">{setting.unit}</span>
                  </>
                )}
              </span>
            </li>
          ))}
        </ul>
      )}
      {shown.length < settings.length ? (
        <button type="button" className="link" onClick={() => setAll(true)}>
          Show all {countText(settings.length, "limit")}
        </button>
      ) : null}
    </div>
  );
}

/** The broker that most actions touch: what one asks about first. */
function mostTouched(plan: PlanDetail): string | undefined {
  const counts = new Map<string, number>();
  for (const broker of plan.steps.flatMap((step) => step.actions.flatMap((a) => a.brokers))) {
    counts.set(broker, (counts.get(broker) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
}

function useStop(plan: PlanDetail, execution: Execution | undefined) {
  const done = stepsDone(plan, execution);
  const [picked, setPicked] = useState<number | null>(null);
  // While it runs the scrubber follows; a stop that the reader picks stays.
  return { stop: Math.min(picked ?? done, plan.steps.length), done, setPicked };
}

export function MapPanel({
  plan,
  map,
  execution,
}: {
  plan: PlanDetail;
  map: PlanMap;
  execution?: Execution;
}) {
  const { stop, done, setPicked } = useStop(plan, execution);
  const [broker, setBroker] = useState<string | null>(null);
  const moves = hasTree(plan);
  const { brokers, tree, proposal, problem, links } = map;
  const loads = useMemo(
    () => (proposal && problem && !moves ? loadsAt(plan, stop, proposal, problem) : null),
    [plan, stop, proposal, problem, moves],
  );
  const names = useMemo(() => new Map((brokers ?? []).map((b) => [b.name, b.id])), [brokers]);
  const nodes = useMemo(
    () =>
      (brokers ?? []).map(({ id, name }) => ({
        id,
        name,
        fraction: loads?.brokers.get(name) ?? null,
      })),
    [brokers, loads],
  );
  const edges = useMemo(
    () =>
      edgesAt(plan, tree, done, stop).flatMap(({ a, b, phase }): MapEdge[] => {
        const [source, target] = [names.get(a), names.get(b)];
        if (!source || !target) return [];
        const own = links.filter(
          (link) => [link.source, link.target].sort().join() === [source, target].sort().join(),
        );
        const load = own.reduce((sum, link) => sum + (loads?.links.get(link.name) ?? 0), 0);
        const { colour, line } = LOOKS[phase];
        const width = phase === "goal" ? 1.75 : 3;
        const label = load > 0 ? `${rateText(load)} msg/s` : "";
        return [{ id: [a, b].sort().join("\n"), source, target, colour, line, width, label }];
      }),
    [plan, tree, done, stop, names, links, loads],
  );
  const shape = JSON.stringify([...names.keys(), ...tree.map((edge) => [edge.a, edge.b])]);
  const places = useMemo(
    () =>
      placesOf(
        (brokers ?? []).map((b) => ({ id: b.id, name: b.name, x: b.map_x, y: b.map_y })),
        tree.flatMap(({ a, b }) => {
          const [source, target] = [names.get(a), names.get(b)];
          return source && target ? [{ source, target }] : [];
        }),
      ),
    // An answer with the same brokers and tree moves nothing.
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the shape stands for brokers and tree
    [shape],
  );
  const stops = useMemo(
    () =>
      stopsOf(plan).map((label, index): Stop => {
        const shown = index === 0 && done > 0 ? "Start" : label;
        if (!proposal || moves) return { label: shown };
        const rates = [...ratesAt(plan, index, proposal).values()];
        const sum = rates.reduce<number>((total, rate) => total + (rate ?? 0), 0);
        return {
          label: shown,
          note: rates.includes(null) ? "not all limited" : `${rateText(sum)} msg/s`,
        };
      }),
    [plan, proposal, moves, done],
  );
  const first = mostTouched(plan);
  const selected = broker ?? (first === undefined ? null : (names.get(first) ?? null));
  const selectedName = brokers?.find((row) => row.id === selected)?.name ?? first;
  const levels = nodes
    .filter((node) => node.fraction !== null)
    .map((node) => `${node.name} ${percentText(node.fraction)}`)
    .join(", ");
  const where = stop === 0 ? "before the first step" : `after step ${stop}`;
  return (
    <Panel
      title="Overlay"
      sub={
        moves
          ? "links at each step"
          : "load by the model; rates allowed in all"
      }
      right={
        moves ? (
          <PhaseLegend />
        ) : (
          <>
            <LoadLegend />
            <span>% of capacity</span>
          </>
        )
      }
      flush
    >
      {map.error ? (
        <Failure error={map.error} what="The map" retry={map.retry} />
      ) : brokers === undefined ? (
        <Loading rows={8} label="Loading the map" />
      ) : brokers.length === 0 ? (
        <Empty>The brokers of this plan are no longer in the model.</Empty>
      ) : (
        <Suspense fallback={<Loading rows={8} label="Loading the map" />}>
          <BrokerMap
            nodes={nodes}
            edges={edges}
            places={places}
            selected={selected}
            onSelect={setBroker}
            className="low"
            label={`Overlay of ${nodes.length} brokers ${where}${levels ? `: ${levels}` : ""}`}
          />
        </Suspense>
      )}
      <Scrubber stops={stops} at={stop} onAt={setPicked} />
      {selectedName && !moves ? <AtBroker plan={plan} broker={selectedName} stop={stop} /> : null}
    </Panel>
  );
}
