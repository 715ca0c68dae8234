/** A candidate of an evaluation as the drawings take it. */
import type { PlayedBroker } from "./overlay-player";
import { edgeKey, timelineOf, type Edge, type Move, type Timeline } from "./timeline";

import type { CandidateDetail } from "@/api/evaluations";
import type { SystemTraffic } from "@/api/in-force";
import type { CatalogTypes } from "@/api/catalog";
import { rateText } from "@/lib/numbers";

export const pairOf = ([a = "", b = ""]: readonly string[]): Edge => ({ a, b });

export const movesOf = (candidate: Pick<CandidateDetail, "steps">): Move[][] =>
  candidate.steps.map((step) =>
    step.map(({ op, broker, from, to, at }) => ({ op, broker, source: from, to, at })),
  );

export const candidateTimeline = (candidate: CandidateDetail): Timeline =>
  timelineOf(candidate.edges_before.map(pairOf), movesOf(candidate));

/** What stands below every stop: the messages on links that it leaves. */
export const stopNotes = (candidate: Pick<CandidateDetail, "moments">): (string | undefined)[] =>
  candidate.moments.map(({ traffic_per_s }) =>
    traffic_per_s === null ? undefined : `${rateText(traffic_per_s)} msg/s`,
  );

/** Messages a second by link and by broker. */
export type StopLoads = {
  links: ReadonlyMap<string, number>;
  brokers: ReadonlyMap<string, number>;
};

type Told = Pick<CandidateDetail, "moments">;
type Traffic = Pick<SystemTraffic, "links" | "brokers">;

/** Whether what a candidate tells of its steps is about these: a plan may take the other way there. */
export function tellsOf(candidate: Pick<CandidateDetail, "steps">, timeline: Timeline): boolean {
  const words = (steps: readonly (readonly Move[])[]) =>
    JSON.stringify(
      steps.map((moves) =>
        moves
          .map(({ op, broker, source, to, at }) => [op, broker, source, to, at].join(" "))
          .sort(),
      ),
    );
  return words(movesOf(candidate)) === words(timeline.steps);
}

/**
 * Loads at a stop with the traffic that was frozen: told in full before the first step, then where
 * a step changes them. Null where the plan was too large for figures.
 */
export function loadsAt(candidate: Told | undefined, stop: number): StopLoads | null {
  const told = candidate?.moments ?? [];
  if (!told[0]?.links?.length) return null;
  const [links, brokers] = [new Map<string, number>(), new Map<string, number>()];
  for (const moment of told.slice(0, stop + 1)) {
    for (const pair of moment.removed) links.delete(edgeKey(pairOf(pair)));
    for (const row of moment.links ?? []) links.set(edgeKey(row), row.traffic_per_s);
    for (const row of moment.brokers ?? []) brokers.set(row.broker, row.handled_per_s);
  }
  return { links, brokers };
}

/** Loads of the tree in force as measured, or as the model has them. */
export const loadsNow = (traffic: Traffic): StopLoads => ({
  links: new Map(traffic.links.map((row) => [edgeKey(row), row.traffic_per_s])),
  brokers: new Map(traffic.brokers.map((row) => [row.broker, row.handled_per_s])),
});

/** Without figures for every step: as routed now, and at the goal as routed there. */
function roughly(
  candidate: Pick<CandidateDetail, "links" | "brokers"> | undefined,
  traffic: Traffic | undefined,
  goal: boolean,
): StopLoads {
  const links = new Map<string, number>();
  const rows = goal
    ? [...(traffic?.links ?? []), ...(candidate?.links ?? [])]
    : [...(candidate?.links ?? []), ...(traffic?.links ?? [])];
  for (const row of rows) links.set(edgeKey(row), row.traffic_per_s);
  const known = candidate?.brokers ?? [];
  const brokers = new Map((traffic?.brokers ?? []).map((row) => [row.broker, row.handled_per_s]));
  for (const row of known) brokers.set(row.broker, goal ? row.then_per_s : row.now_per_s);
  return { links, brokers };
}

/** What is known of a stop: by the figures of the candidate where they tell of it, else roughly. */
export function loadsOfStop(
  candidate: CandidateDetail | undefined,
  told: Told | undefined,
  traffic: Traffic | undefined,
  timeline: Timeline,
  stop: number,
): StopLoads {
  const goal = stop === timeline.stops - 1 && stop > 0;
  return loadsAt(told, stop) ?? roughly(candidate, traffic, goal);
}

const share = (rate: number | undefined, capacity: number | null | undefined) =>
  rate !== undefined && typeof capacity === "number" && capacity > 0 ? rate / capacity : null;

/** Brokers of the map with their level at a stop, and a tick where it was before the first step. */
export function playedBrokers(
  brokers: readonly Pick<CatalogTypes["brokers"], "name" | "region" | "map_x" | "map_y">[],
  candidate: Pick<CandidateDetail, "brokers"> | undefined,
  traffic: Traffic | undefined,
  loads: StopLoads,
  moved: boolean,
): PlayedBroker[] {
  const most = new Map((traffic?.brokers ?? []).map((row) => [row.broker, row.capacity_per_s]));
  const was = new Map<string, number>();
  for (const row of candidate?.brokers ?? []) {
    most.set(row.broker, row.capacity_per_s);
    was.set(row.broker, row.now_per_s);
  }
  return brokers.map(({ name, region, map_x: x, map_y: y }) => {
    const fraction = share(loads.brokers.get(name), most.get(name));
    const previous = moved ? share(was.get(name), most.get(name)) : null;
    return { name, region, x, y, fraction, ...(previous === null ? {} : { previous }) };
  });
}
