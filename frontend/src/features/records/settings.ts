/** The settings of records: what may be typed, and how they read. */
import type { RecordSettings } from "@/api/records";
import { parseNumber } from "@/components/ui/fields";
import { fixed } from "@/lib/numbers";

export type SettingName = "late_after_s" | "keep_records_days" | "keep_sums_days";

export type Setting = {
  name: SettingName;
  label: string;
  unit: string;
  /** Of the API in one that is typed. */
  per: number;
  most: number;
  hint: string;
};

export const SETTINGS: readonly Setting[] = [
  {
    name: "late_after_s",
    label: "Older records are set aside after",
    unit: "h",
    per: 3600,
    most: 366 * 86_400,
    hint: "Between the moment that a record is of and its arrival.",
  },
  {
    name: "keep_records_days",
    label: "Records are kept for",
    unit: "d",
    per: 1,
    most: 3660,
    hint: "With their batches and what was set aside.",
  },
  {
    name: "keep_sums_days",
    label: "Sums by minute are kept for",
    unit: "d",
    per: 1,
    most: 3660,
    hint: "They may outlive the records that they are of.",
  },
];

export const valueOf = (row: RecordSettings, { name }: Setting): number => row[name] ?? 0;

/** What is in force as it would be typed: hours that are no round number end after six decimals. */
export const typedOf = (row: RecordSettings, setting: Setting): string =>
  String(Number((valueOf(row, setting) / setting.per).toFixed(6)));

export function settingText(row: RecordSettings, setting: Setting): string {
  const value = valueOf(row, setting);
  const amount = value / setting.per;
  return Number.isInteger(amount) ? `${fixed(amount)} ${setting.unit}` : `${fixed(value)} s`;
}

type Read = { value: number; problem?: undefined } | { value?: undefined; problem: string };

/** A setting as it was typed, in the unit of the API, or what is wrong with it. */
export function readSetting({ unit, per, most }: Setting, typed: string): Read {
  const given = parseNumber(typed);
  const noun = unit === "h" ? "hours" : "days";
  if (given === undefined || given === null) return { problem: `Give a number of ${noun}.` };
  const value = Math.round(given * per);
  if (value < 1 || value > most) {
    const range =
      per === 1 ? `1 to ${fixed(most)} d` : `1 s to ${fixed(most / per)} h, which is 366 d`;
    return { problem: `Give ${range}.` };
  }
  return per === 1 && value !== given ? { problem: "Give whole days." } : { value };
}
