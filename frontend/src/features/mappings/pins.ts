/** Pins: what the catalog holds today, beside what the map says that each costs. */
import { useQuery } from "@tanstack/react-query";

import { catalogAll, type CatalogTypes } from "@/api/catalog";
import type { MappingPin } from "@/api/mappings";
import { keys } from "@/api/query-keys";

type Topic = CatalogTypes["topics"];
type Stream = CatalogTypes["streams"];

export type PinKind = MappingPin["kind"];

/** A topic or a stream, and where it is pinned to. */
export type Pin = {
  kind: PinKind;
  id: string;
  name: string;
  /** Of a stream. */
  number: number | null;
  version: number;
  may: boolean;
  target: string;
  targetName: string;
  /** Null while it is not known. */
  targetNumber: number | null;
};

/** Where each kind is kept, what it is pinned to, and in which field. */
export const PINNED = {
  flow: { kind: "topics", to: "streams", field: "pinned_stream", word: "topic", target: "stream" },
  stream: { kind: "streams", to: "groups", field: "pinned_group", word: "stream", target: "group" },
} as const;

type Numbered = { id: string; number: number };

const numberOf = (rows: readonly Numbered[] | undefined, id: string) =>
  rows?.find((row) => row.id === id)?.number ?? null;

/** Topics first, then streams, each by name. */
export function pinsOf(
  topics: readonly Topic[],
  streams: readonly Stream[],
  allStreams: readonly Numbered[] | undefined,
  allGroups: readonly Numbered[] | undefined,
): Pin[] {
  const common = ({ id, name, version, allowed_commands: allowed }: Topic | Stream) => ({
    ...{ id, name, version },
    may: allowed.includes("edit"),
  });
  const flows = topics.map((row) => ({
    ...common(row),
    ...{ kind: "flow" as const, number: null },
    target: row.pinned_stream ?? "",
    targetName: row.pinned_stream_name ?? "",
    targetNumber: numberOf(allStreams, row.pinned_stream ?? ""),
  }));
  const carried = streams.map((row) => ({
    ...common(row),
    ...{ kind: "stream" as const, number: row.number },
    target: row.pinned_group ?? "",
    targetName: row.pinned_group_name ?? "",
    targetNumber: numberOf(allGroups, row.pinned_group ?? ""),
  }));
  const byName = (a: Pin, b: Pin) => a.name.localeCompare(b.name, "en", { numeric: true });
  return [...flows.sort(byName), ...carried.sort(byName)];
}

/** Topics are known to a map by name, streams by number: they may have other names by now. */
const keyOf = ({ kind, name, number, to }: Omit<MappingPin, "price">) =>
  JSON.stringify([kind, kind === "stream" ? number : name, to]);

/** By id of the object: what its pin costs by the proposed map; left out where the map knew of no
 * such pin, or did not price it. */
export function pricesOf(pins: readonly Pin[], priced: readonly MappingPin[]) {
  const known = new Map(priced.map((pin) => [keyOf(pin), pin.price]));
  const prices = new Map<string, number>();
  for (const { kind, name, number, targetNumber: to, id } of pins) {
    const price = to === null ? undefined : known.get(keyOf({ kind, name, number, to }));
    if (price !== undefined) prices.set(id, price);
  }
  return prices;
}

/** Today's pins of a system. */
export function usePins(system: string) {
  const whole = { system };
  const pinned = { system, pinned: true };
  const topics = useQuery({
    queryKey: keys.catalog.whole("topics", pinned),
    queryFn: ({ signal }) => catalogAll("topics", pinned, signal),
  });
  const streams = useQuery({
    queryKey: keys.catalog.whole("streams", pinned),
    queryFn: ({ signal }) => catalogAll("streams", pinned, signal),
  });
  // A pin names what it leads to; the number, by which maps know it, stands in its own row.
  const allStreams = useQuery({
    queryKey: keys.catalog.whole("streams", whole),
    queryFn: ({ signal }) => catalogAll("streams", whole, signal),
    enabled: (topics.data?.length ?? 0) > 0,
  });
  const allGroups = useQuery({
    queryKey: keys.catalog.whole("groups", whole),
    queryFn: ({ signal }) => catalogAll("groups", whole, signal),
    enabled: (streams.data?.length ?? 0) > 0,
  });
  const needed = [
    topics,
    streams,
    ...(topics.data?.length ? [allStreams] : []),
    ...(streams.data?.length ? [allGroups] : []),
  ];
  const data =
    topics.data && streams.data && needed.every((query) => query.data !== undefined)
      ? pinsOf(topics.data, streams.data, allStreams.data, allGroups.data)
      : undefined;
  return {
    data,
    error: needed.find((query) => query.error)?.error ?? null,
    isPending: data === undefined,
    refetch: () => Promise.all(needed.map((query) => query.refetch())),
  };
}
