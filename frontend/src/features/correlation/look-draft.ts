/** What the dialog asks for, as typed: times in ms, shares in percent; checked as the server checks it. */
import type { AnalysisRequest, Source } from "@/api/correlation";
import { parseNumber } from "@/components/ui/fields";
import { fixed } from "@/lib/numbers";
import type { FieldProblem } from "@/lib/problem";

export type LookDraft = {
  topic: string;
  source: Source;
  minutes: string;
  recording: string;
  within: string;
  share: string;
  smallest: string;
  note: string;
};

export const startDraft = (topic: string): LookDraft => ({
  topic,
  source: "measured",
  minutes: "30",
  recording: "",
  within: "50",
  share: "50",
  smallest: "2",
  note: "",
});

type Range = { least: number; most: number; unit: string; whole?: boolean };

const RANGES = {
  minutes: { least: 1, most: 30, unit: "min" },
  within_s: { least: 1, most: 60_000, unit: "ms" },
  least_share: { least: 20, most: 100, unit: "%" },
  smallest_group: { least: 2, most: 1000, unit: "publishers", whole: true },
} as const satisfies Record<string, Range>;

function wrongNumber(field: keyof typeof RANGES, text: string): FieldProblem[] {
  const { least, most, unit, whole = false }: Range = RANGES[field];
  const value = parseNumber(text);
  if (
    typeof value === "number" &&
    value >= least &&
    value <= most &&
    (!whole || Number.isInteger(value))
  )
    return [];
  const kind = whole ? "A whole number" : "A number";
  return [{ field, message: `${kind} from ${fixed(least)} to ${fixed(most)}\u00a0${unit}.` }];
}

/** What is wrong with which field, by the names of the API. */
export function wrongIn(draft: LookDraft): FieldProblem[] {
  const measured = draft.source === "measured";
  return [
    ...(draft.topic === "" ? [{ field: "topic", message: "Choose a topic." }] : []),
    ...(measured ? wrongNumber("minutes", draft.minutes) : []),
    ...(!measured && draft.recording === ""
      ? [{ field: "recording", message: "Choose a recording." }]
      : []),
    ...wrongNumber("within_s", draft.within),
    ...wrongNumber("least_share", draft.share),
    ...wrongNumber("smallest_group", draft.smallest),
  ];
}

const number = (text: string) => Number(parseNumber(text));
/** Without what binary fractions leave. */
const plain = (value: number) => Number(value.toPrecision(12));

/** Only of a draft in which nothing is wrong. */
export function requestOf(draft: LookDraft, system: string): AnalysisRequest {
  const measured = draft.source === "measured";
  return {
    system,
    topic: draft.topic,
    source: draft.source,
    minutes: measured ? number(draft.minutes) : RANGES.minutes.most,
    recording: measured ? "" : draft.recording,
    within_s: plain(number(draft.within) / 1e3),
    least_share: plain(number(draft.share) / 100),
    smallest_group: number(draft.smallest),
    note: draft.note.trim(),
  };
}
