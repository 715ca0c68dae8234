/** Live news: one EventSource for the whole page, a small store, and the queries that it makes fresh. */
import type { QueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";

import type { Schemas } from "./client";
import { keys } from "./query-keys";

/** A heartbeat comes every 10 s; after this silence what is shown may be old. */
export const STALE_AFTER_MS = 25_000;
const RETRY_MS = 5_000;

export type Progress = {
  iteration?: number;
  utility?: number;
  best_utility?: number;
  /** Of a run with many problems. */
  done?: number;
  total?: number;
};

export type RunNews = {
  id: string;
  number: number;
  system: string | null;
  method: string;
  state: Schemas["Run"]["state"];
  attempt: number;
  progress: Progress;
  cancel_requested: boolean;
  failure: string;
};

export type TracePoint = { iteration: number; utility: number; best: number };

export type LiveState = {
  status: "connecting" | "live" | "offline";
  lastAt: number | null;
  offlineSince: number | null;
  runs: Readonly<Record<string, RunNews>>;
  /** Utility by iteration as it was heard, for runs that this page has watched. */
  traces: Readonly<Record<string, readonly TracePoint[]>>;
};

const START: LiveState = {
  status: "connecting",
  lastAt: null,
  offlineSince: null,
  runs: {},
  traces: {},
};

let state = START;
const listeners = new Set<() => void>();

function set(change: Partial<LiveState>) {
  state = { ...state, ...change };
  listeners.forEach((listener) => listener());
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
};

const whole = (all: LiveState) => all;

/** What is picked must be a part of the state or a plain value: news come several a second, and a
 * page is drawn again only when what it picked has changed. */
export function useLive(): LiveState;
export function useLive<Of>(pick: (all: LiveState) => Of): Of;
export function useLive<Of>(pick: (all: LiveState) => Of | LiveState = whole) {
  return useSyncExternalStore(subscribe, () => pick(state));
}

export const useOnline = (): boolean => useLive(({ status }) => status !== "offline");

/** How long ago something was heard, ticking once a second. */
export function useSilence(): { seconds: number | null; stale: boolean } {
  const lastAt = useLive((all) => all.lastAt);
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  if (lastAt === null) return { seconds: null, stale: false };
  const silence = Math.max(0, now - lastAt);
  return { seconds: Math.floor(silence / 1000), stale: silence > STALE_AFTER_MS };
}

/** The points of a trace, one per iteration; a new attempt starts it again. */
export function addPoint(trace: readonly TracePoint[], progress: Progress): readonly TracePoint[] {
  const { iteration, utility, best_utility: best = utility } = progress;
  if (iteration === undefined || utility === undefined || best === undefined) return trace;
  const point = { iteration, utility, best };
  const last = trace.at(-1);
  if (last && iteration < last.iteration) return [point];
  if (last?.iteration === iteration) return trace;
  return [...trace, point].slice(-4000);
}

const ACTIVE: readonly string[] = ["queued", "running"];

type Message =
  | { kind: "heartbeat" | "resync" }
  | { kind: "snapshot"; runs: RunNews[] }
  | ({ kind: "run" } & RunNews)
  | { kind: "allocation"; id: string; system: string | null }
  | { kind: "study"; id: string; system: string; state: string; done: number; total: number }
  | { kind: "overlay"; id: string; system: string }
  // `only`: the one kind of object that the edit touched, where nothing else follows from it.
  | { kind: "system"; id: string; model_version: number | null; only?: string }
  | { kind: "plan"; id: string; system: string; state: string }
  | { kind: "execution"; id: string; plan: string; system: string; state: string }
  | { kind: "agent"; id: string; broker: string; system: string; state: string }
  | { kind: "policy"; id: string; system: string | null }
  | { kind: "telemetry"; system: string }
  | { kind: "recomputation"; system: string }
  | { kind: "calibration"; system: string; id?: string };

/** An execution says much in a moment; a branch is asked again at most this often. */
export const PACE_MS = 500;

/** ... and not while it is being answered: asking again would break that answer off, and where answers
 * take longer than news keep away none would ever come. After so many paces it counts as lost. */
const MOST_PACES = 20;

type Paced = { timer: ReturnType<typeof setTimeout>; again: boolean; answered: boolean };

const executionStates = new Map<string, string>();
const paced = new Map<string, Paced>();

/** A page that nobody sees only notes that it is behind; it asks when it is looked at again. */
const behind = (queryKey: readonly unknown[]) =>
  document.hidden ? { queryKey, refetchType: "none" as const } : { queryKey };

/** Freshen at once, then at most once per pace while the news go on; the last news always count. */
function freshenPaced(queries: QueryClient, branches: readonly (readonly unknown[])[]) {
  for (const branch of branches) {
    const name = JSON.stringify(branch);
    const waiting = paced.get(name);
    if (waiting) {
      waiting.again = true;
      continue;
    }
    let paces = 0;
    const tick = () => {
      paces += 1;
      if (!entry.answered && paces < MOST_PACES) {
        entry.timer = setTimeout(tick, PACE_MS);
        return;
      }
      paced.delete(name);
      if (entry.again) freshenPaced(queries, [branch]);
    };
    const entry: Paced = { timer: setTimeout(tick, PACE_MS), again: false, answered: false };
    paced.set(name, entry);
    void queries.invalidateQueries(behind(branch)).finally(() => {
      entry.answered = true;
    });
  }
}

function freshen(queries: QueryClient, branches: readonly (readonly unknown[])[]) {
  for (const branch of branches) void queries.invalidateQueries(behind(branch));
}

function hearRun(queries: QueryClient, run: RunNews) {
  const before = state.runs[run.id];
  set({
    runs: { ...state.runs, [run.id]: run },
    traces: { ...state.traces, [run.id]: addPoint(state.traces[run.id] ?? [], run.progress) },
  });
  const moved =
    before?.state !== run.state ||
    before.attempt !== run.attempt ||
    before.cancel_requested !== run.cancel_requested;
  if (moved) freshen(queries, [keys.runs.all, keys.studies.all, keys.overlays.all, keys.overview]);
}

export function hear(queries: QueryClient, message: Message) {
  set({ status: "live", lastAt: Date.now(), offlineSince: null });
  switch (message.kind) {
    case "snapshot": {
      // It names every run that has not ended; what else was active has ended unheard.
      const known = Object.values(state.runs).filter((run) => !ACTIVE.includes(run.state));
      set({ runs: Object.fromEntries([...known, ...message.runs].map((run) => [run.id, run])) });
      for (const run of message.runs) {
        set({
          traces: { ...state.traces, [run.id]: addPoint(state.traces[run.id] ?? [], run.progress) },
        });
      }
      break;
    }
    case "run":
      hearRun(queries, message);
      break;
    case "allocation":
      freshen(queries, [keys.allocations.all, keys.overview, keys.runs.all]);
      break;
    case "study":
      // Its points come in batches, several a second.
      freshenPaced(queries, [keys.studies.all]);
      break;
    case "overlay":
      freshenPaced(queries, [keys.overlays.all]);
      break;
    case "system":
      // An execution that moves links rewires the overlay with every action, and nothing else.
      freshenPaced(queries, [
        keys.systems.all,
        message.only === "overlay" ? keys.catalog.kind("overlays") : keys.catalog.all,
        keys.overview,
        keys.audit.all,
      ]);
      break;
    case "plan":
      freshenPaced(queries, [keys.plans.all, keys.overview]);
      break;
    case "execution":
      // Progress shows in the execution and in lists; a plan itself changes only with the state.
      freshenPaced(queries, [keys.executions.one(message.id)]);
      if (executionStates.get(message.id) === message.state) {
        freshenPaced(queries, [keys.plans.lists]);
      } else {
        executionStates.set(message.id, message.state);
        // The branch that news of the plan itself freshen, so that both are one request.
        freshenPaced(queries, [keys.plans.all]);
      }
      break;
    case "agent":
      freshenPaced(queries, [keys.agents.all]);
      break;
    case "policy":
      // A stricter policy may take an approval back.
      freshenPaced(queries, [keys.policies.all, keys.plans.all]);
      break;
    case "recomputation":
      freshenPaced(queries, [keys.recomputation.all]);
      break;
    case "telemetry":
      freshenPaced(queries, [keys.telemetry.system(message.system)]);
      break;
    case "calibration":
      freshenPaced(queries, [
        // Without an id only the factors and bounds moved.
        message.id === undefined
          ? keys.calibration.state(message.system)
          : keys.calibration.system(message.system),
      ]);
      break;
    case "resync":
      void queries.invalidateQueries();
      break;
    case "heartbeat":
      break;
  }
}

/** Open the stream; the returned function closes it. */
export function listen(queries: QueryClient): () => void {
  let source: EventSource | null = null;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let closed = false;
  let wasOffline = false;

  const open = () => {
    if (closed) return;
    source = new EventSource("/api/v1/events");
    source.onmessage = (event: MessageEvent<string>) => {
      hear(queries, JSON.parse(event.data) as Message);
      if (wasOffline) {
        wasOffline = false;
        // What happened meanwhile was not heard.
        void queries.invalidateQueries();
      }
    };
    source.onerror = () => {
      // The server ends every stream after a while; only a failed reconnect is an outage.
      if (source?.readyState === EventSource.CLOSED || state.status !== "live") {
        wasOffline = true;
        set({ status: "offline", offlineSince: state.offlineSince ?? Date.now() });
        void queries.invalidateQueries({ queryKey: keys.session });
      } else {
        set({ status: "connecting" });
      }
      if (source?.readyState === EventSource.CLOSED) retry = setTimeout(open, RETRY_MS);
    };
  };

  const seen = () => {
    if (!document.hidden) void queries.refetchQueries({ type: "active", stale: true });
  };
  document.addEventListener("visibilitychange", seen);
  open();
  return () => {
    closed = true;
    document.removeEventListener("visibilitychange", seen);
    clearTimeout(retry);
    paced.forEach(({ timer }) => clearTimeout(timer));
    paced.clear();
    executionStates.clear();
    source?.close();
    set(START);
  };
}
