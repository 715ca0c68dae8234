/** The overlay at every stop of a plan of limits: levels of the brokers, limits in force. */
import { lazy, Suspense, useMemo, useState } from "react";

import { levelsAt, loadsAt, ratesAt, settingsAt, stepsDone, stopsOf } from "./step-view";
import type { PlanMap } from "./use-plan-map";

import type { Execution, PlanDetail } from "@/api/plans";
import type { MapEdge } from "@/components/map/broker-map";
import { placesOf } from "@/components/map/places";
import { Scrubber, type Stop } from "@/components/map/scrubber";
import { edgeKey } from "@/components/map/timeline";
import { LoadLegend } from "@/components/ui/bars";
import { Empty, Failure, Loading, Panel } from "@/components/ui/panel";
import { countText, fixed, percentText, rateText } from "@/lib/numbers";

const BrokerMap = lazy(() => import("@/components/map/broker-map"));

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
                  setting.absent || "no limit"
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
  const { brokers, tree, proposal, problem, links, levels } = map;
  const loads = useMemo(
    () => (proposal && problem ? loadsAt(plan, stop, proposal, problem) : null),
    [plan, stop, proposal, problem],
  );
  const names = useMemo(() => new Map((brokers ?? []).map((b) => [b.name, b.id])), [brokers]);
  const nodes = useMemo(() => {
    const fractions = levelsAt(stop, loads?.brokers, levels);
    return (brokers ?? []).map(({ id, name }) => ({
      id,
      name,
      fraction: fractions.get(name) ?? null,
    }));
  }, [brokers, loads, levels, stop]);
  const unknown = nodes.some((node) => node.fraction === null) ? levels?.unknown_because : "";
  const edges = useMemo(
    () =>
      tree.flatMap(({ a, b }): MapEdge[] => {
        const [source, target] = [names.get(a), names.get(b)];
        if (!source || !target) return [];
        const own = links.filter(
          (link) => [link.source, link.target].sort().join() === [source, target].sort().join(),
        );
        const load = own.reduce((sum, link) => sum + (loads?.links.get(link.name) ?? 0), 0);
        const label = load > 0 ? `${rateText(load)} msg/s` : "";
        return [{ id: edgeKey({ a, b }), source, target, colour: "line-2", width: 3, label }];
      }),
    [tree, names, links, loads],
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
        if (!proposal) return { label: shown };
        const rates = [...ratesAt(plan, index, proposal).values()];
        const sum = rates.reduce<number>((total, rate) => total + (rate ?? 0), 0);
        return {
          label: shown,
          note: rates.includes(null) ? "not all limited" : `${rateText(sum)} msg/s`,
        };
      }),
    [plan, proposal, done],
  );
  const first = mostTouched(plan);
  const selected = broker ?? (first === undefined ? null : (names.get(first) ?? null));
  const selectedName = brokers?.find((row) => row.id === selected)?.name ?? first;
  const spoken = nodes
    .filter((node) => node.fraction !== null)
    .map((node) => `${node.name} ${percentText(node.fraction)}`)
    .join(", ");
  const where = stop === 0 ? "before the first step" : `after step ${stop}`;
  return (
    <Panel
      title="Overlay"
      sub="load by the model; rates allowed in all"
      right={
        <>
          <LoadLegend />
          <span>% of capacity</span>
        </>
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
            label={`Overlay of ${countText(nodes.length, "broker")} ${where}${spoken ? `: ${spoken}` : ""}`}
          />
        </Suspense>
      )}
      {unknown ? <p className="muted mapnote">Levels are not known. {unknown}</p> : null}
      <Scrubber stops={stops} at={stop} onAt={setPicked} />
      {selectedName ? <AtBroker plan={plan} broker={selectedName} stop={stop} /> : null}
    </Panel>
  );
}
