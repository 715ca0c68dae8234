/** Parameters as the API describes them: what a form shows, and what it sends. */
import type { FieldProblem } from "./problem";

import type { Schemas } from "@/api/client";

export type Parameter = Schemas["ParameterDescription"];

export type Point = { rate: string; utility: string };
export type ParameterDraft = Record<string, string | boolean | Point[]>;

const asText = (value: unknown): string =>
  typeof value === "number" || typeof value === "string" ? String(value) : "";

function pointsOf(value: unknown): Point[] {
  if (!Array.isArray(value)) return [];
  return value.map((entry: unknown) => {
    const [rate, utility] = Array.isArray(entry) ? (entry as unknown[]) : [];
    return { rate: asText(rate), utility: asText(utility) };
  });
}

const isNested = (value: unknown) => typeof value === "object" && value !== null;

/** An object or a list within a mapping is typed as JSON, and a text that looks like one with
 * quotes; anything else is a text as it stands. */
function valueOf(text: string): unknown {
  const plain = text.startsWith('"') ? parsed(text) : text;
  if (typeof plain !== "string" || !/^[[{]/.test(plain)) return text;
  return plain === text ? (parsed(text) ?? text) : plain;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string {
  const looksNested = typeof value === "string" && isNested(valueOf(value));
  return isNested(value) || looksNested ? JSON.stringify(value) : asText(value);
}

/** A mapping is typed as lines such as "X-Team: messaging". */
function linesOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  return Object.entries(value)
    .map(([name, one]) => `${name}: ${textOf(one)}`)
    .join("\n");
}

function readLines(text: string, path: string): { value?: unknown; errors: FieldProblem[] } {
  const value: Record<string, unknown> = {};
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const [name = "", ...rest] = line.split(":");
    if (name.trim() === "" || rest.length === 0) {
      return { errors: [{ field: path, message: `Line ${index + 1}: write "name: value".` }] };
    }
    value[name.trim()] = valueOf(rest.join(":").trim());
  }
  return { value, errors: [] };
}

const FIRST_POINTS: Point[] = [
  { rate: "0", utility: "0" },
  { rate: "10", utility: "50" },
  { rate: "100", utility: "100" },
];

export function parameterDraft(
  parameters: readonly Parameter[],
  values: Readonly<Record<string, unknown>> = {},
): ParameterDraft {
  return Object.fromEntries<ParameterDraft[string]>(
    parameters.map((parameter) => {
      const value = values[parameter.name] ?? parameter.default;
      if (parameter.type === "boolean") return [parameter.name, value === true];
      if (parameter.type === "points") {
        const points = pointsOf(value);
        return [parameter.name, points.length > 0 ? points : FIRST_POINTS];
      }
      if (parameter.type === "mapping") return [parameter.name, linesOf(value)];
      return [parameter.name, asText(value)];
    }),
  );
}

export function readNumber(text: string): number | null {
  const plain = text.replaceAll(",", "").replaceAll("\u2212", "-").trim();
  if (plain === "") return null;
  const value = Number(plain);
  return Number.isFinite(value) ? value : NaN;
}

function readOne(
  parameter: Parameter,
  given: string | boolean | Point[] | undefined,
  path: string,
): { value?: unknown; errors: FieldProblem[] } {
  if (parameter.type === "boolean") return { value: given === true, errors: [] };
  if (Array.isArray(given)) {
    const errors: FieldProblem[] = [];
    const points = given.map((point, index) => {
      const pair = [readNumber(point.rate), readNumber(point.utility)];
      pair.forEach((value, side) => {
        if (value === null || Number.isNaN(value)) {
          errors.push({ field: `${path}[${index}][${side}]`, message: "Give a number." });
        }
      });
      return pair;
    });
    return { value: points, errors };
  }
  const text = typeof given === "string" ? given : "";
  if (parameter.type === "string") return { value: text, errors: [] };
  if (parameter.type === "mapping") return readLines(text, path);
  const value = readNumber(text);
  if (value === null) {
    return parameter.required
      ? { errors: [{ field: path, message: "Give a number." }] }
      : { errors: [] };
  }
  if (Number.isNaN(value) || (parameter.type === "integer" && !Number.isInteger(value))) {
    const what = parameter.type === "integer" ? "a whole number" : "a number";
    return { errors: [{ field: path, message: `"${text}" is not ${what}.` }] };
  }
  return { value, errors: [] };
}

/** Whether a parameter counts beside the others as they are: some go with one choice alone. */
export function isApplicable(parameter: Parameter, draft: ParameterDraft): boolean {
  return Object.entries(parameter.only_with ?? {}).every(([name, value]) => draft[name] === value);
}

/** What the API takes; what was left empty, or does not apply, keeps the default of the method. */
export function readParameters(
  parameters: readonly Parameter[],
  draft: ParameterDraft,
  path = "parameters",
): { values: Record<string, unknown>; errors: FieldProblem[] } {
  const values: Record<string, unknown> = {};
  const errors: FieldProblem[] = [];
  for (const parameter of parameters) {
    if (!isApplicable(parameter, draft)) continue;
    const read = readOne(parameter, draft[parameter.name], `${path}.${parameter.name}`);
    errors.push(...read.errors);
    if (read.value !== undefined) values[parameter.name] = read.value;
  }
  return { values, errors };
}

/** "max_iterations" as a label. */
export function labelOf(name: string): string {
  const words = name.replace(/_(per_s|s)$/, "").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Where the slopes of points rise: their indices; a concave line has none. */
export function bendsUp(points: readonly (readonly [number, number])[]): number[] {
  const slope = (i: number) => {
    const [a, b] = [points[i], points[i + 1]];
    return a && b ? (b[1] - a[1]) / (b[0] - a[0]) : 0;
  };
  return points.flatMap((_, i) =>
    i > 0 && i < points.length - 1 && slope(i) > slope(i - 1) * (1 + 1e-9) + 1e-12 ? [i] : [],
  );
}
