/** Live news: one EventSource for the whole page, a small store, and the queries that it makes fresh. */
import type { QueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";

import type { Schemas } from "./client";
import { keys } from "./query-keys";

import { listenersOf } from "@/lib/manifest";

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
  /** What it computes; empty where the server did not say. */
  kind: string;
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

/** A run in one of these has not ended. */
export const ACTIVE: readonly string[] = ["queued", "running"];

/** A run in a message, whose own `kind` says what it is about. */
type ToldRun = Omit<RunNews, "kind"> & { run_kind?: string };

const runOf = ({ run_kind = "", ...run }: ToldRun): RunNews => ({ ...run, kind: run_kind });

/** Of every other kind the features know the fields that they read. */
export type Message = { kind: string; id?: string; [field: string]: unknown };

export type Branch = readonly unknown[];

/** The branches of queries that a message makes fresh. Paced: where such messages come several a second. */
export type Fresh = { atOnce?: readonly Branch[]; paced?: readonly Branch[] };

/** What a feature makes of a message; it declares the fields that it reads. `before` is what was
 * heard of the same object before. Of a run one hears when it has moved, not of its progress. */
export type Listener = (news: never, before?: never) => Fresh;

/** An execution says much in a moment; a branch is asked again at most this often. */
export const PACE_MS = 500;

/** ... and not while it is being answered: asking again would break that answer off, and where answers
 * take longer than news keep away none would ever come. After so many paces it counts as lost. */
const MOST_PACES = 20;

type Paced = {
  queries: QueryClient;
  timer: ReturnType<typeof setTimeout>;
  again: boolean;
  answered: boolean;
};

/** The last message of each kind about each object. */
const heard = new Map<string, Message>();
const paced = new Map<string, Paced>();

/** A page that nobody sees only notes that it is behind; it asks when it is looked at again. */
const behind = (queryKey: readonly unknown[]) =>
  document.hidden ? { queryKey, refetchType: "none" as const } : { queryKey };

/** Freshen at once, then at most once per pace while the news go on; the last news always count. */
function freshenPaced(queries: QueryClient, branches: readonly Branch[]) {
  for (const branch of branches) {
    const name = JSON.stringify(branch);
    const waiting = paced.get(name);
    if (waiting?.queries === queries) {
      waiting.again = true;
      continue;
    }
    // Of queries that are gone, nobody waits for an answer.
    clearTimeout(waiting?.timer);
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
    const timer = setTimeout(tick, PACE_MS);
    const entry: Paced = { queries, timer, again: false, answered: false };
    paced.set(name, entry);
    void queries.invalidateQueries(behind(branch)).finally(() => {
      entry.answered = true;
    });
  }
}

function freshen(queries: QueryClient, branches: readonly Branch[]) {
  for (const branch of branches) void queries.invalidateQueries(behind(branch));
}

/** Whether a run has moved; progress alone changes numbers in place. */
function hearRun(run: RunNews): boolean {
  const before = state.runs[run.id];
  set({
    runs: { ...state.runs, [run.id]: run },
    traces: { ...state.traces, [run.id]: addPoint(state.traces[run.id] ?? [], run.progress) },
  });
  return (
    before?.state !== run.state ||
    before.attempt !== run.attempt ||
    before.cancel_requested !== run.cancel_requested
  );
}

function hearAll(runs: readonly RunNews[]) {
  // It names every run that has not ended; what else was active has ended unheard.
  const known = Object.values(state.runs).filter((run) => !ACTIVE.includes(run.state));
  set({ runs: Object.fromEntries([...known, ...runs].map((run) => [run.id, run])) });
  for (const run of runs) {
    set({
      traces: { ...state.traces, [run.id]: addPoint(state.traces[run.id] ?? [], run.progress) },
    });
  }
}

function tell(queries: QueryClient, message: Message, news: object = message) {
  const name = `${message.kind} ${message.id}`;
  const before = heard.get(name);
  if (message.id !== undefined) heard.set(name, message);
  for (const listener of listenersOf(message.kind)) {
    const { atOnce = [], paced: seldom = [] } = listener(news as never, before as never);
    freshen(queries, atOnce);
    freshenPaced(queries, seldom);
  }
}

export function hear(queries: QueryClient, message: Message) {
  set({ status: "live", lastAt: Date.now(), offlineSince: null });
  switch (message.kind) {
    case "heartbeat":
      break;
    case "resync":
      void queries.invalidateQueries();
      break;
    case "snapshot":
      hearAll((message as unknown as { runs: ToldRun[] }).runs.map(runOf));
      break;
    case "run": {
      const run = runOf(message as unknown as ToldRun);
      if (hearRun(run)) tell(queries, message, run);
      break;
    }
    default:
      tell(queries, message);
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
    heard.clear();
    source?.close();
    set(START);
  };
}
