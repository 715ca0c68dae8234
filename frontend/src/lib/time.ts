/** Times are UTC on the screen: the hour, with the date when it is not today. */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const LONG_MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

const two = (n: number) => String(n).padStart(2, "0");

export function clockText(value: string | Date | null | undefined, now = new Date()): string {
  if (!value) return "\u2013";
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return "\u2013";
  const clock = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`;
  if (date.toISOString().slice(0, 10) === now.toISOString().slice(0, 10)) return clock;
  const day = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()] ?? ""}`;
  const year = date.getUTCFullYear() === now.getUTCFullYear() ? "" : ` ${date.getUTCFullYear()}`;
  return `${clock}, ${day}${year}`;
}

/** Exact, for tooltips and facts: "14:02:07 UTC, 18 Mar 2026". */
export function exactTime(value: string | Date | null | undefined): string {
  if (!value) return "\u2013";
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return "\u2013";
  const clock = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(two).join(":");
  return `${clock} UTC, ${date.getUTCDate()} ${MONTHS[date.getUTCMonth()] ?? ""} ${date.getUTCFullYear()}`;
}

/** "Wednesday 18 March 2026, 14:02 UTC" */
export function longTime(date: Date): string {
  const day = DAYS[date.getUTCDay()] ?? "";
  const month = LONG_MONTHS[date.getUTCMonth()] ?? "";
  const clock = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`;
  return `${day} ${date.getUTCDate()} ${month} ${date.getUTCFullYear()}, ${clock} UTC`;
}

/** Age in the largest whole unit: "12 s", "26 min", "3 h", "4 d". */
export function ageText(value: string | Date | null | undefined, now = new Date()): string {
  if (!value) return "\u2013";
  const seconds = Math.max(0, (now.getTime() - new Date(value).getTime()) / 1000);
  if (Number.isNaN(seconds)) return "\u2013";
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}
