/** The outcome under changes: asked of the server while one drags, stored nowhere. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { bodyOf, type Draft } from "./what-if";

import { whatIf, type Outcome, type PlacementDetail } from "@/api/placements";
import { keys } from "@/api/query-keys";
import { problemOf } from "@/lib/problem";
import { useStill } from "@/lib/still";

const STILL_MS = 120;
const BUSY_TRIES = 8;
const BUSY_MS = 400;
/** Answers are kept this long for whoever drags back. */
const KEPT_MS = 60_000;

export type WhatIfState = {
  draft: Draft;
  set: (draft: Draft) => void;
  reset: () => void;
  /** Something is changed. */
  isOn: boolean;
  /** What is shown is not yet the answer to what is set. */
  waits: boolean;
  outcome: Outcome;
  error: unknown;
  retry: () => void;
};

export function useWhatIf({ id, outcome: stored }: PlacementDetail): WhatIfState {
  const [draft, setDraft] = useState<Draft>({});
  const [kept, setKept] = useState<Outcome | null>(null);
  const body = bodyOf(stored, draft);
  const asked = useStill(body, STILL_MS);
  const isOn = body !== null;
  const answer = useQuery({
    queryKey: keys.placements.whatIf(id, asked),
    queryFn: ({ signal }) => whatIf(id, asked ?? {}, signal),
    enabled: isOn && asked !== null,
    staleTime: Infinity,
    gcTime: KEPT_MS,
    // One at a time is computed: whoever comes meanwhile asks again.
    retry: (tries, error) => problemOf(error).code === "busy" && tries < BUSY_TRIES,
    retryDelay: BUSY_MS,
  });
  const settled = JSON.stringify(body) === JSON.stringify(asked);
  const fresh = isOn && asked !== null ? answer.data : undefined;
  // The former picture stands until the next answer has come.
  if (fresh !== undefined && fresh !== kept) setKept(fresh);
  if (!isOn && kept !== null) setKept(null);
  return {
    draft,
    set: setDraft,
    reset: () => setDraft({}),
    isOn,
    waits: isOn && (!settled || answer.isFetching),
    outcome: isOn ? (fresh ?? kept ?? stored) : stored,
    error: isOn && settled ? answer.error : null,
    retry: () => void answer.refetch(),
  };
}
