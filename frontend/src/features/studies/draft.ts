/** What the builder edits, the study that it would send, and how a former study becomes a draft. */
import { groupClasses, readSegments, tradingDay, type Grouping, type SegmentDraft } from "./day";
import { draftsOf, newAxis, readAxis, sweepSize, type AxisDraft, type By } from "./quantities";
import type { Axis, FieldError, Spec } from "./spec";

import type { CatalogTypes } from "@/api/catalog";
import { readNumber } from "@/lib/parameters";

export type Kind = "sweep" | "schedule" | "text";

export type Draft = {
  kind: Kind;
  axes: AxisDraft[];
  grouping: Grouping;
  segments: SegmentDraft[];
  warm: boolean;
  methods: string[];
  name: string;
  limit: string;
  /** The study as JSON, where the form has no words for it. */
  text: string;
};

export type Model = {
  names: Record<By, string[]>;
  classes: readonly CatalogTypes["consumer-classes"][];
  resources: readonly string[];
};

export function firstDraft(model: Model, method: string | undefined): Draft {
  const groups = groupClasses(model.classes, "utility_name");
  return {
    kind: "sweep",
    axes: [
      {
        ...newAxis("node_capacity", model.resources[0] ?? ""),
        targets: model.names.brokers.slice(0, 1),
      },
    ],
    grouping: "utility_name",
    segments: tradingDay(groups.map((group) => group.name)),
    warm: true,
    methods: method === undefined ? [] : [method],
    name: "",
    limit: "",
    text: "",
  };
}

const plain = (spec: Spec) => JSON.stringify(spec, null, 2);
const GROUPINGS: readonly Grouping[] = ["utility_name", "topic_name", "broker_name"];

/** A former study as a draft: in the form where it has words for all of it, else as text. */
export function draftFrom(spec: Spec, name: string, model: Model, first: Draft): Draft {
  const draft: Draft = {
    ...first,
    name: `Copy of ${name}`.slice(0, 200),
    limit: spec.time_limit_s === null ? "" : String(spec.time_limit_s),
    methods: spec.methods.map((choice) => choice.method),
    text: plain(spec),
  };
  const usual =
    spec.methods.every((c) => c.label === c.method && Object.keys(c.parameters).length === 0) &&
    spec.base.length === 0 &&
    spec.seed === 0 &&
    !spec.keep_rates;
  if (usual && spec.kind === "sweep" && spec.scenarios.length === 0 && spec.groups.length === 0) {
    const axes = draftsOf(spec.axes, model.resources[0] ?? "");
    if (axes) return { ...draft, kind: "sweep", axes };
  }
  if (usual && spec.kind === "schedule") {
    const same = JSON.stringify(spec.groups);
    const grouping = GROUPINGS.find(
      (by) => JSON.stringify(groupClasses(model.classes, by)) === same,
    );
    if (grouping) {
      const segments = spec.segments.map((segment) => ({
        label: segment.label,
        minutes: String(segment.duration_s / 60),
        percent: Object.fromEntries(
          Object.entries(segment.percent).map(([group, value]) => [group, String(value)]),
        ),
      }));
      return { ...draft, kind: "schedule", grouping, segments, warm: spec.warm };
    }
  }
  return { ...draft, kind: "text" };
}

export type Read = { spec: Record<string, unknown>; size: number | null; errors: FieldError[] };

/** What the draft would send; nothing is sent while `errors` holds any. */
export function readDraft(draft: Draft, model: Model): Read {
  if (draft.kind === "text") return readText(draft.text);
  const errors: FieldError[] = [];
  if (draft.methods.length === 0)
    errors.push({ field: "methods", message: "Choose at least one." });
  const seconds = readNumber(draft.limit);
  if (seconds !== null && !(seconds > 0)) {
    errors.push({ field: "time_limit_s", message: "Give a number of seconds above 0." });
  }
  const common = {
    methods: draft.methods.map((method) => ({ method })),
    ...(seconds === null ? {} : { time_limit_s: seconds }),
  };
  if (draft.kind === "schedule") {
    const groups = groupClasses(model.classes, draft.grouping);
    const read = readSegments(
      draft.segments,
      groups.map((group) => group.name),
    );
    return {
      spec: { kind: "schedule", ...common, groups, segments: read.segments, warm: draft.warm },
      size: draft.segments.length * draft.methods.length,
      errors: [...errors, ...read.errors],
    };
  }
  const read = draft.axes.map((axis, index) => readAxis(axis, index, model.names[axis.by]));
  const axes: Axis[] = read.flatMap((entry) => entry.axes);
  return {
    spec: { kind: "sweep", ...common, axes },
    size: sweepSize(axes, draft.methods.length),
    errors: [...errors, ...read.flatMap((entry) => entry.errors)],
  };
}

function readText(text: string): Read {
  const refused = (message: string): Read => ({
    spec: {},
    size: null,
    errors: [{ field: "text", message }],
  });
  if (text.trim() === "") return refused("Paste a study, or take the one of the form.");
  try {
    const spec: unknown = JSON.parse(text);
    return typeof spec === "object" && spec !== null && !Array.isArray(spec)
      ? { spec: spec as Record<string, unknown>, size: null, errors: [] }
      : refused('A study is an object: { "kind": "sweep", ... }.');
  } catch (error) {
    return refused(`Not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The draft with the study of its form as text, to be refined by hand. */
export function toText(draft: Draft, model: Model): Draft {
  if (draft.kind === "text") return draft;
  return { ...draft, kind: "text", text: JSON.stringify(readDraft(draft, model).spec, null, 2) };
}
