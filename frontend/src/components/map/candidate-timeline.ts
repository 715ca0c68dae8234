/** A candidate of an evaluation as the drawings take it. */
import type { PlayedBroker } from "./overlay-player";
import { edgeKey, timelineOf, type Edge, type Move, type Timeline } from "./timeline";

import type { CandidateDetail, SystemTraffic } from "@/api/overlays";
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

/** Messages a second by link: as routed now, and at the goal as routed there. */
export function trafficAt(
  candidate: Pick<CandidateDetail, "links"> | undefined,
  now: Pick<SystemTraffic, "links"> | undefined,
  goal: boolean,
): ReadonlyMap<string, number> | undefined {
  const found = new Map<string, number>();
  const put = (rows: readonly { a: string; b: string; traffic_per_s: number }[] | undefined) => {
    for (const row of rows ?? []) found.set(edgeKey(row), row.traffic_per_s);
  };
  if (goal) {
    put(now?.links);
    put(candidate?.links);
  } else {
    put(candidate?.links);
    put(now?.links);
  }
  return found.size > 0 ? found : undefined;
}

const share = (rate: number, capacity: number | null) =>
  capacity !== null && capacity > 0 ? rate / capacity : null;

/** Brokers of the map with their level now, or at the goal with a tick where they came from. */
export function playedBrokers(
  brokers: readonly Pick<CatalogTypes["brokers"], "name" | "region" | "map_x" | "map_y">[],
  candidate: Pick<CandidateDetail, "brokers"> | undefined,
  goal: boolean,
): PlayedBroker[] {
  const loads = new Map((candidate?.brokers ?? []).map((row) => [row.broker, row]));
  return brokers.map(({ name, region, map_x: x, map_y: y }) => {
    const load = loads.get(name);
    if (!load) return { name, region, x, y };
    const now = share(load.now_per_s, load.capacity_per_s);
    const then = share(load.then_per_s, load.capacity_per_s);
    return goal ? { name, region, x, y, fraction: then, previous: now } : { name, region, x, y, fraction: now };
  });
}
