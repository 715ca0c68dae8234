/** How demand reads. */
import type { DemandBasis, DemandSettings, Wanted } from "@/api/demand";
import { parseNumber } from "@/components/ui/fields";
import { fixed, percentText } from "@/lib/numbers";

export const BASES: Record<DemandBasis, string> = {
  typed: "The model's figures",
  measured: "Measured demand",
  forecast: "Forecast demand",
  largest: "The largest of these",
};

export const unitOf = (subject: Wanted["subject"]) => (subject === "topic" ? "msg/s" : "consumers");

/** Topics before classes, whose names often begin as theirs do. */
export const topicsFirst = <Row extends Pick<Wanted, "subject">>(rows: readonly Row[]): Row[] =>
  rows.toSorted((a, b) => Number(a.subject === "class") - Number(b.subject === "class"));

/** What snapshots take of a topic or class by these settings: the rules of the server. */
export function usedBy(settings: DemandSettings, row: Wanted): number {
  const { basis = "typed", floor_ratio: floor = 0, ceiling_ratio: ceiling = 1 } = settings;
  const figures = { typed: [], measured: [row.counting], forecast: [row.forecast ?? row.counting] };
  const known = basis === "largest" ? [row.counting, row.forecast] : figures[basis];
  const wanted = Math.max(...known.filter((each) => each !== null), -Infinity);
  if (wanted === -Infinity) return row.typed;
  const bounded = Math.min(Math.max(wanted, floor * row.typed), ceiling * row.typed);
  const used = basis === "largest" ? Math.max(row.typed, bounded) : bounded;
  return row.subject === "topic" ? Math.max(row.least, used) : Math.ceil(used - 1e-6);
}

export type NumberName =
  "window_minutes" | "level" | "floor_ratio" | "ceiling_ratio" | "horizon_hours" | "least_change";

type NumberSetting = {
  name: NumberName;
  label: string;
  unit: string;
  /** Of the API in one that is typed. */
  per: number;
  least: number;
  most: number;
  hint: string;
};

export const NUMBERS: readonly NumberSetting[] = [
  {
    name: "window_minutes",
    label: "Measured over",
    unit: "min",
    per: 1,
    least: 5,
    most: 120,
    hint: "Short follows sooner, long is calmer.",
  },
  {
    name: "level",
    label: "Enough in",
    unit: "% of minutes",
    per: 0.01,
    least: 50,
    most: 100,
    hint: "100 % is the largest minute.",
  },
  {
    name: "floor_ratio",
    label: "At least",
    unit: "% of the model's",
    per: 0.01,
    least: 0,
    most: 100,
    hint: "So that who was away may come back.",
  },
  {
    name: "ceiling_ratio",
    label: "At most",
    unit: "% of the model's",
    per: 0.01,
    least: 100,
    most: 100_000,
    hint: "So that a mistake stays small.",
  },
  {
    name: "horizon_hours",
    label: "Forecast until",
    unit: "h ahead",
    per: 1,
    least: 1,
    most: 24,
    hint: "The fullest hour until then counts.",
  },
  {
    name: "least_change",
    label: "A new estimate from",
    unit: "% change",
    per: 0.01,
    least: 0.1,
    most: 100,
    hint: "Of a topic or a class; smaller changes are noise.",
  },
];

export const valueOf = (row: DemandSettings, { name }: NumberSetting): number => row[name] ?? 0;

/** What is in force as it would be typed. */
export const typedOf = (row: DemandSettings, setting: NumberSetting): string =>
  String(Number((valueOf(row, setting) / setting.per).toFixed(6)));

export const settingText = (row: DemandSettings, setting: NumberSetting): string =>
  setting.per === 1
    ? `${fixed(valueOf(row, setting))} ${setting.unit}`
    : `${percentText(valueOf(row, setting), 1)}${setting.unit.slice(1)}`;

type Read = { value: number; problem?: undefined } | { value?: undefined; problem: string };

/** A number as it was typed, in the unit of the API, or what is wrong with it. */
export function readNumber({ per, least, most, unit }: NumberSetting, typed: string): Read {
  const given = parseNumber(typed);
  if (given === null || given === undefined || given < least || given > most) {
    return {
      problem: `Give ${fixed(least, least < 1 && least > 0 ? 1 : 0)} to ${fixed(most)} ${unit}.`,
    };
  }
  if (per === 1)
    return Number.isInteger(given) ? { value: given } : { problem: "Give a whole number." };
  return { value: Number((given * per).toPrecision(12)) };
}
