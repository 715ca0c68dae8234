/** What the heat map says: of one cell, of the widest groups, and all of it as a table. */
import type { Heat } from "@/api/mappings";
import type { Cell } from "@/lib/csv";
import { countText, fixed, percentText, rateText } from "@/lib/numbers";

export type Place = { row: number; column: number };

/** Columns with at least so much of what the first has stand beside it as the widest. */
const NEARLY_AS_MUCH = 0.75;
const MOST_NAMED = 3;

/** What users of a row filter of a group, msg/s, at both layers. */
export const filteredAt = ({ unwanted_per_s, dropped_per_s }: Heat, { row, column }: Place) =>
  (unwanted_per_s[row]?.[column] ?? 0) + (dropped_per_s[row]?.[column] ?? 0);

export const joinedAt = ({ joined }: Heat, { row, column }: Place) => joined[row]?.[column] ?? 0;

export const allFiltered = (heat: Heat): number[] =>
  heat.rows.flatMap((_, row) => heat.groups.map((__, column) => filteredAt(heat, { row, column })));

const listed = (parts: readonly string[]) =>
  parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1) ?? ""}`;

/** "group 3", "groups 3 to 5", "groups 3, 7 and 9". */
export function groupsText(numbers: readonly number[]): string {
  const sorted = [...numbers].sort((one, other) => one - other);
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (first === undefined || last === undefined) return "no group";
  if (sorted.length === 1) return `group ${fixed(first)}`;
  if (sorted.length > 2 && last - first === sorted.length - 1) {
    return `groups ${fixed(first)} to ${fixed(last)}`;
  }
  return `groups ${listed(sorted.map((number) => fixed(number)))}`;
}

export const usersText = ({ first, last, users }: Heat["rows"][number]): string =>
  // Rows are ordered by groups, not by name: whoever stands between may have any name.
  users === 1 ? first : `${countText(users, "user")}, the first ${first}, the last ${last}`;

/** How many users stand in a row. */
export function rowsText({ rows }: Heat): string {
  const most = Math.max(0, ...rows.map(({ users }) => users));
  const fewest = Math.min(...rows.map(({ users }) => users));
  if (most <= 1) return "one user a row";
  return `${fewest === most ? "" : "up to "}${fixed(most)} users a row`;
}

export function cellText(heat: Heat, place: Place): string {
  const { row, column } = place;
  const [users, group] = [heat.rows[row], heat.groups[column]];
  if (users === undefined || group === undefined) return "";
  const where = `${usersText(users)}, in ${groupsText(group.numbers)}`;
  const joins = joinedAt(heat, place);
  if (joins === 0) return `${where}: not joined.`;
  const who =
    group.numbers.length > 1
      ? `joined ${countText(joins, "time")}`
      : users.users === 1
        ? "joined"
        : `${fixed(joins)} of them joined`;
  const amounts = (
    [
      [heat.wanted_per_s, "wanted"],
      [heat.unwanted_per_s, "unwanted"],
      [heat.dropped_per_s, "dropped"],
    ] as const
  ).map(([cells, word]) => `${rateText(cells[row]?.[column])} msg/s ${word}`);
  return `${where}: ${who}; ${amounts.join(", ")}.`;
}

/** The groups of which most is filtered, before anybody points at a cell. */
export function widestText(heat: Heat): string {
  const whole = heat.groups.reduce((sum, group) => sum + group.unwanted_per_s, 0);
  const ranked = [...heat.groups].sort((one, other) => other.unwanted_per_s - one.unwanted_per_s);
  const [first] = ranked;
  if (first === undefined || whole <= 0) return "No user gets anything that it did not ask for.";
  const near = ranked.filter(
    (group) => group.unwanted_per_s >= NEARLY_AS_MUCH * first.unwanted_per_s,
  );
  // Where many are much alike, only the first is worth its name.
  const widest = near.length > MOST_NAMED ? [first] : near;
  const numbers = widest.flatMap((group) => group.numbers);
  const name = groupsText(numbers);
  const filtered = widest.reduce((sum, group) => sum + group.unwanted_per_s, 0);
  const joins = widest.reduce((sum, group) => sum + group.users, 0);
  const users = heat.rows.reduce((sum, row) => sum + row.users, 0);
  const isOne = numbers.length === 1;
  return [
    `G${name.slice(1)} ${isOne ? "is" : "are"} the widest: joined `,
    isOne ? `by ${fixed(joins)} of ${countText(users, "user")}` : countText(joins, "time"),
    `, ${rateText(filtered)} msg/s filtered, ${percentText(filtered / whole)} of all.`,
  ].join("");
}

export const HEAT_HEAD = [
  ...["Users", "Groups", "Joined", "Wanted msg/s", "Unwanted msg/s", "Dropped msg/s"],
  "Filtered msg/s",
];

/** Every cell that somebody joined, where most is filtered first. */
export function heatRows(heat: Heat): Cell[][] {
  const places = heat.rows.flatMap((_, row) => heat.groups.map((__, column) => ({ row, column })));
  return places
    .filter((place) => joinedAt(heat, place) > 0)
    .map((place) => ({ place, filtered: filteredAt(heat, place) }))
    .sort((one, other) => other.filtered - one.filtered)
    .map(({ place, filtered }) => {
      const { row, column } = place;
      const [users, group] = [heat.rows[row], heat.groups[column]];
      return [
        users === undefined ? "" : usersText(users),
        group?.numbers.join(" "),
        joinedAt(heat, place),
        heat.wanted_per_s[row]?.[column],
        heat.unwanted_per_s[row]?.[column],
        heat.dropped_per_s[row]?.[column],
        filtered,
      ];
    });
}
