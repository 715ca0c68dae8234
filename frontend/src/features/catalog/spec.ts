/** What a kind of object looks like in a form: drafts are text, bodies are what the API takes. */
import type { ComponentType } from "react";

import type { CatalogKind, CatalogObject } from "@/api/catalog";
import type { Column } from "@/components/ui/data-table";
import type { Option } from "@/components/ui/fields";
import { labelWords, readLabels } from "@/lib/labels";
import { readNumber, type ParameterDraft } from "@/lib/parameters";
import type { FieldProblem } from "@/lib/problem";

type Base = { name: string; label: string; hint?: string; required?: boolean; wide?: boolean };

export type RowColumn =
  | { kind: "ref"; name: string; label: string; to: CatalogKind; nameField: string }
  | { kind: "number"; name: string; label: string; unit?: string }
  | { kind: "resource"; name: string; label: string };

export type FieldSpec =
  | (Base & { kind: "text" | "area" })
  | (Base & { kind: "number"; unit?: string; integer?: boolean; initial?: string })
  | (Base & { kind: "choice"; options: readonly Option[]; initial: string })
  | (Base & { kind: "check" })
  | (Base & { kind: "ref"; to: CatalogKind; nameField: string })
  | (Base & { kind: "resources"; valueName: string; unit: string })
  | (Base & { kind: "rows"; columns: readonly RowColumn[]; add: string })
  | (Base & { kind: "refs"; inner: string; innerName: string; to: CatalogKind })
  | (Base & { kind: "labels" })
  | (Base & { kind: "utility" });

export type Row = Record<string, string>;
export type UtilityDraft = { kind: string; parameters: ParameterDraft };
export type DraftValue = string | boolean | string[] | Row | Row[] | UtilityDraft;
export type Draft = Record<string, DraftValue>;

export type Descriptor = {
  fields: readonly FieldSpec[];
  // Rows of different kinds share one table, so the cells read loosely typed rows.
  columns: readonly Column<LooseRow>[];
  filters?: readonly { name: string; label: string; options: readonly Option[] }[];
  ordering?: string;
  /** What stands above the list. */
  Above?: ComponentType<{ system: string }>;
  related?: readonly { kind: CatalogKind; by: string; title: string }[];
};

export type LooseRow = CatalogObject & Record<string, unknown>;

const text = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

const list = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? (value as Record<string, unknown>[]) : [];

function draftOf(field: FieldSpec, object: LooseRow | null): DraftValue {
  const value = object?.[field.name];
  switch (field.kind) {
    case "check":
      return value === true;
    case "choice":
      return object === null ? field.initial : text(value);
    case "number":
      return object === null ? (field.initial ?? "") : text(value);
    case "resources":
      return Object.fromEntries(
        list(value).map((row) => [text(row.resource), text(row[field.valueName])]),
      );
    case "rows":
      return list(value).map((row) =>
        Object.fromEntries(field.columns.map((column) => [column.name, text(row[column.name])])),
      );
    case "refs":
      return list(value).map((row) => text(row[field.inner]));
    case "labels":
      return labelWords(value);
    case "utility":
      return { kind: text(object?.kind), parameters: {} };
    default:
      return text(value);
  }
}

export function toDraft(fields: readonly FieldSpec[], object: LooseRow | null): Draft {
  return Object.fromEntries(fields.map((field) => [field.name, draftOf(field, object)]));
}

/** Names of referenced objects that the answer carried, so that pickers show them at once. */
export function knownNames(fields: readonly FieldSpec[], object: LooseRow | null): Option[] {
  if (object === null) return [];
  const options: Option[] = [];
  const keep = (id: unknown, name: unknown) => {
    if (text(id) !== "") options.push({ value: text(id), label: text(name) });
  };
  for (const field of fields) {
    if (field.kind === "ref") keep(object[field.name], object[field.nameField]);
    if (field.kind === "refs") {
      for (const row of list(object[field.name])) keep(row[field.inner], row[field.innerName]);
    }
    if (field.kind === "rows") {
      for (const row of list(object[field.name])) {
        for (const column of field.columns) {
          if (column.kind === "ref") keep(row[column.name], row[column.nameField]);
        }
      }
    }
  }
  return options;
}

function numberOr(
  given: string,
  path: string,
  errors: FieldProblem[],
  rules: { required: boolean; integer?: boolean },
): number | null {
  const value = readNumber(given);
  if (value === null) {
    if (rules.required) errors.push({ field: path, message: "Give a number." });
    return null;
  }
  if (Number.isNaN(value) || (rules.integer && !Number.isInteger(value))) {
    const what = rules.integer ? "a whole number" : "a number";
    errors.push({ field: path, message: `"${given}" is not ${what}.` });
    return null;
  }
  return value;
}

function bodyOf(field: FieldSpec, value: DraftValue | undefined, errors: FieldProblem[]): unknown {
  const required = field.required !== false;
  switch (field.kind) {
    case "number":
      return numberOr(text(value), field.name, errors, { required, integer: field.integer });
    case "check":
      return value === true;
    case "ref":
      if (text(value) === "" && required) {
        errors.push({ field: field.name, message: "Choose one." });
      }
      return text(value) === "" ? null : value;
    case "resources": {
      const entries = Object.entries(value as Row).filter(([, v]) => v.trim() !== "");
      return entries.map(([resource, amount], index) => ({
        resource,
        [field.valueName]: numberOr(amount, `${field.name}[${index}].${field.valueName}`, errors, {
          required: true,
        }),
      }));
    }
    case "rows":
      return (value as Row[]).map((row, index) =>
        Object.fromEntries<string | number | null>(
          field.columns.map((column) => {
            const path = `${field.name}[${index}].${column.name}`;
            const given = row[column.name] ?? "";
            if (column.kind === "number") {
              return [column.name, numberOr(given, path, errors, { required: true })];
            }
            if (given === "") errors.push({ field: path, message: "Choose one." });
            return [column.name, given];
          }),
        ),
      );
    case "refs":
      return (value as string[]).map((id) => ({ [field.inner]: id }));
    case "labels": {
      const { labels, problem } = readLabels(value as string[]);
      if (problem !== null) errors.push({ field: field.name, message: problem });
      return labels;
    }
    case "text":
      if (text(value).trim() === "" && required) {
        errors.push({ field: field.name, message: `Give a ${field.label.toLowerCase()}.` });
      }
      return text(value).trim();
    default:
      return value;
  }
}

/** Everything but the utility, whose parameters need the description of their kind. */
export function toBody(
  fields: readonly FieldSpec[],
  draft: Draft,
): { body: Record<string, unknown>; errors: FieldProblem[] } {
  const errors: FieldProblem[] = [];
  const body: Record<string, unknown> = {};
  for (const field of fields) {
    if (field.kind !== "utility") body[field.name] = bodyOf(field, draft[field.name], errors);
  }
  return { body, errors };
}

/** Only what differs from the object goes into a PATCH, so that history names only that. */
export function changesOf(
  fields: readonly FieldSpec[],
  former: Draft,
  draft: Draft,
  body: Record<string, unknown>,
): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  for (const field of fields) {
    if (JSON.stringify(former[field.name]) === JSON.stringify(draft[field.name])) continue;
    if (field.name in body) changed[field.name] = body[field.name];
  }
  return changed;
}

/** What a POST needs to make the object again as it was; for the undo of a delete. */
export function formerBody(
  fields: readonly FieldSpec[],
  object: LooseRow,
): Record<string, unknown> {
  const { body } = toBody(fields, toDraft(fields, object));
  const utility = fields.some((field) => field.kind === "utility")
    ? { kind: object.kind, parameters: object.parameters }
    : {};
  return { ...body, ...utility, system: object.system };
}
