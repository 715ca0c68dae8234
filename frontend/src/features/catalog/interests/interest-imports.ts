/** Imports of interests: what is asked of the server, and what every page says of one. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import type { ListQuery } from "@/api/catalog";
import { client, take, upload, type Page, type Schemas } from "@/api/client";
import { ACTIVE } from "@/api/live";
import { keys } from "@/api/query-keys";
import { countText, dataText, fixed } from "@/lib/numbers";
import { problemOf, type FieldProblem } from "@/lib/problem";

export type InterestImport = Schemas["InterestImport"];
export type ImportMode = InterestImport["mode"];

export const MOST_BYTES = 128 * 2 ** 20;
export const LIMITS = "at most 128 MiB and 5,000,000 lines";

export const MODES: Record<ImportMode, { word: string; about: string }> = {
  add: {
    word: "Add",
    about: "Each subscriber also wants what the file lists for it; nothing ends.",
  },
  remove: {
    word: "Remove",
    about: "What the file lists ends; what a subscriber does not want anyway stays as it is.",
  },
  replace: {
    word: "Replace",
    about:
      "Each subscriber in the file wants exactly what the file lists for it; all others stay as they are.",
  },
};

export const MODE_NAMES = Object.keys(MODES) as ImportMode[];

/** The news say when one goes on; this only covers a stream that is away. */
const LOOK_MS = 5_000;

export const goesOn = ({ state }: InterestImport): boolean => ACTIVE.includes(state);

/** `state` may be several; the address of a page has one. */
export const interestImportsQuery = (
  query: ListQuery | { system: string; state?: InterestImport["state"][]; page_size: number },
) =>
  queryOptions({
    queryKey: keys.interestImports.list(query),
    queryFn: async ({ signal }): Promise<Page<InterestImport>> =>
      await take(client.GET("/api/v1/interest-imports", { params: { query }, signal })),
    refetchInterval: ({ state }) => (state.data?.results.some(goesOn) ? LOOK_MS : false),
  });

export const interestImportQuery = (id: string) =>
  queryOptions({
    queryKey: keys.interestImports.one(id),
    queryFn: ({ signal }): Promise<InterestImport> =>
      take(client.GET("/api/v1/interest-imports/{id}", { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (state.data && goesOn(state.data) ? LOOK_MS : false),
  });

export function useCancelImport() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string): Promise<InterestImport> =>
      take(
        client.POST("/api/v1/interest-imports/{id}/cancel", {
          params: { path: { id } },
          body: { reason: "" },
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.interestImports.all }),
  });
}

/** What a person chooses beside the file. */
export type ImportDraft = {
  file: File | null;
  mode: ImportMode;
  create: boolean;
  reason: string;
};

/** What of the file no server need be asked about. */
export function faultOf(file: File | null): string {
  if (file === null) return "Choose a CSV file.";
  if (file.size === 0) return `${file.name} is empty.`;
  if (file.size > MOST_BYTES) {
    return `${file.name} has ${dataText(file.size)}; one import takes 128 MiB. Split the file.`;
  }
  return "";
}

export async function interestsUpload(
  { file, mode, create, reason }: ImportDraft & { file: File },
  given: { system: string; dry_run: boolean; key: string },
  news: { onSent: (bytes: number) => void; signal: AbortSignal },
): Promise<InterestImport> {
  const query = new URLSearchParams({
    system: given.system,
    mode,
    dry_run: String(given.dry_run),
    ...(create && mode !== "remove" ? { create_missing: "subscribers" } : {}),
    ...(reason.trim() ? { reason: reason.trim() } : {}),
  });
  const headers = { "Content-Type": "text/csv", "Idempotency-Key": given.key };
  return await upload(`/api/v1/interest-imports?${query.toString()}`, file, { headers, ...news });
}

/** What the form shows of a refusal, by its own fields: the server knows the file as the body. */
export function complaintsAbout(error: unknown, file: File): FieldProblem[] {
  const { status, detail, errors } = problemOf(error);
  if (errors.length === 0) {
    const ofFile = [413, 415].includes(status);
    return [{ field: ofFile ? "file" : "", message: ofFile ? `${file.name}: ${detail}` : detail }];
  }
  return errors.map((one) => (["rows", ""].includes(one.field) ? { ...one, field: "file" } : one));
}

export const exportInterestsAddress = (system: string): string =>
  `/api/v1/interests/export?${new URLSearchParams({ system }).toString()}`;

const PHASES: Record<InterestImport["phase"], string> = {
  read: "Reading the file",
  match: "Looking up names",
  compare: "Comparing with what is there",
  write: "Writing what differs",
};

const PHASE_NAMES = Object.keys(PHASES) as InterestImport["phase"][];

/** "Reading the file, step 1 of 4". */
export function phaseText({ state, phase, cancel_requested }: InterestImport): string {
  if (cancel_requested) return "Cancelling: what was written is taken back";
  if (state === "queued") return "Waits for a worker";
  return `${PHASES[phase]}, step ${PHASE_NAMES.indexOf(phase) + 1} of ${PHASE_NAMES.length}`;
}

/** "120,000 of about 1,000,000 lines"; empty while nothing is counted. */
export function doneText({ state, phase, done, total }: InterestImport): string {
  if (state === "queued" || total === 0) return "";
  const about = phase === "read" ? "about " : "";
  const [one, many] = phase === "write" ? ["interest", "interests"] : ["line", "lines"];
  return `${fixed(done)} of ${about}${countText(total, one, many)}`;
}

/** Of the step that goes on, from 0 to 1; null where nothing is counted. */
export const shareOf = ({ state, done, total }: InterestImport): number | null =>
  state === "queued" ? 0 : total === 0 ? null : Math.min(1, done / total);

export const differs = (row: InterestImport): boolean =>
  row.added + row.removed + row.subscribers_created > 0;

/** How it ended, in a sentence. */
export function endText(row: InterestImport): string {
  switch (row.state) {
    case "succeeded":
      if (!differs(row)) return "Nothing differs: the system is as the file says.";
      return row.dry_run
        ? "Checked only: no line is wrong, nothing was changed."
        : `Imported: the model is v${fixed(row.model_version)}.`;
    case "refused":
      return `${countText(row.error_count, "error")}: nothing was changed. Correct the file and give it again.`;
    case "failed":
      return row.failure;
    case "cancelled":
      return "Cancelled: nothing was changed.";
    default:
      return `${phaseText(row)}.`;
  }
}

/** "Add, check only". */
export const modeText = (row: InterestImport): string =>
  MODES[row.mode].word + (row.dry_run ? ", check only" : "");

/** Seconds from its start to its end, or to `now`; null before it. */
export const tookSeconds = (row: InterestImport, now: Date): number | null =>
  row.started_at === null
    ? null
    : Math.max(
        0,
        (row.ended_at ? Date.parse(row.ended_at) : now.getTime()) - Date.parse(row.started_at),
      ) / 1000;
