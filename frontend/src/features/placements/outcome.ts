/** What the parts of the page read out of an outcome. */
import type {
  BrokerShare,
  Outcome,
  PlacementDetail,
  PublisherGroup,
  SplitOption,
} from "@/api/placements";
import { fixed } from "@/lib/numbers";

export const chosenOf = ({ curve }: Outcome): SplitOption | null =>
  curve.find((option) => option.chosen) ?? null;

export const isUsed = (share: BrokerShare): boolean => share.publishers > 0;

/** Brokers that serve the topic, in the order of the answer. */
export const usedOf = ({ shares }: Outcome): BrokerShare[] => shares.filter(isUsed);

/** How much more than the topic sends its tokens come, as a fraction. */
export const headroomOf = ({ contract }: Outcome): number =>
  contract.rate_per_s > 0 ? contract.token_rate_per_s / contract.rate_per_s - 1 : 0;

/** What the broker processes by this placement, in messages per second. */
export const processesOf = (share: BrokerShare): number =>
  share.speed_per_s ?? share.max_rate_per_s;

/** Whether measuring showed another speed than the largest publish rate. */
export const processesElse = (share: BrokerShare): boolean =>
  Math.abs(processesOf(share) - share.max_rate_per_s) > 1e-6 * share.max_rate_per_s;

export const loadOf = (share: BrokerShare) => {
  const of = (topic: number) =>
    share.max_rate_per_s > 0 ? (share.allocated_rate_per_s + topic) / share.max_rate_per_s : 0;
  return { after: of(share.rate_per_s), before: of(share.rate_today_per_s) };
};

/** Null as soon as one of them is not known. */
const sum = (values: readonly (number | null)[]): number | null =>
  values.reduce<number | null>((all, one) => (all === null || one === null ? null : all + one), 0);

export function sumsOf(outcome: Outcome) {
  const used = usedOf(outcome);
  return {
    rate: sum(used.map((share) => share.rate_per_s)),
    tokens: sum(used.map((share) => share.token_rate_per_s)),
    bucket: sum(used.map((share) => share.bucket)),
  };
}

/** The brokers that get who moves, where every one of them only gains. */
export function gainersOf(outcome: Outcome): string[] | null {
  const gains = outcome.shares
    .map(({ broker, publishers, publishers_today: today }) => ({ broker, by: publishers - today }))
    .filter(({ by }) => by > 0);
  const all = gains.reduce((so_far, { by }) => so_far + by, 0);
  return all === outcome.moved && all > 0 ? gains.map(({ broker }) => broker) : null;
}

/** A row of the matrix: a group, all small ones together, or those without. */
export type GroupRow = {
  name: string;
  kind: "group" | "others" | "alone";
  publishers: number;
  byBroker: Readonly<Record<string, number>>;
};

/** As many as there are colours. */
export const GROUPS_SHOWN = 6;

const rowOf = (group: PublisherGroup): GroupRow => ({
  name: group.name ?? "no group",
  kind: group.name === null ? "alone" : "group",
  publishers: group.publishers,
  byBroker: group.by_broker,
});

/** The largest groups, the rest of them as one row, then those without a group. */
export function groupRows(groups: readonly PublisherGroup[], most = GROUPS_SHOWN): GroupRow[] {
  const named = groups
    .filter((group) => group.name !== null)
    .sort((a, b) => b.publishers - a.publishers || (a.name ?? "").localeCompare(b.name ?? ""));
  // One group alone needs no other word for it.
  const shown = named.length === most + 1 ? most + 1 : most;
  const rest = named.slice(shown);
  const byBroker: Record<string, number> = {};
  for (const group of rest) {
    for (const [broker, count] of Object.entries(group.by_broker)) {
      byBroker[broker] = (byBroker[broker] ?? 0) + count;
    }
  }
  const others: GroupRow = {
    name: `${fixed(rest.length)} other groups`,
    kind: "others",
    publishers: rest.reduce((all, group) => all + group.publishers, 0),
    byBroker,
  };
  return [
    ...named.slice(0, shown).map(rowOf),
    ...(rest.length > 0 ? [others] : []),
    ...groups.filter((group) => group.name === null && group.publishers > 0).map(rowOf),
  ];
}

export const mayPlaceAgain = ({ allowed_commands: allowed }: PlacementDetail): boolean =>
  allowed.includes("again");
