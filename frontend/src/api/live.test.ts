import { QueryClient } from "@tanstack/react-query";
import { renderHook, act } from "@testing-library/react";
import { vi } from "vitest";

import { addPoint, hear, listen, PACE_MS, useLive } from "./live";
import { keys } from "./query-keys";

const news = (iteration: number, state: "running" | "succeeded" = "running") =>
  ({
    kind: "run",
    id: "r1",
    number: 1,
    system: null,
    method: "lrgp",
    state,
    attempt: 1,
    progress: { iteration, utility: iteration * 10, best_utility: iteration * 10 },
    cancel_requested: false,
    failure: "",
  }) as const;

it("keeps the trace of a run and starts it again with a new attempt", () => {
  const one = addPoint([], { iteration: 1, utility: 5, best_utility: 6 });
  const two = addPoint(one, { iteration: 9, utility: 4, best_utility: 6 });
  expect(two.map((point) => point.iteration)).toEqual([1, 9]);
  expect(two[1]?.best).toBe(6);
  expect(addPoint(two, { iteration: 2, utility: 1 })).toHaveLength(1);
  expect(addPoint(two, {})).toBe(two);
});

it("turns news into fresh queries", () => {
  const queries = new QueryClient();
  const invalidate = vi.spyOn(queries, "invalidateQueries");
  const { result } = renderHook(() => useLive());
  act(() => hear(queries, news(1)));
  expect(result.current.status).toBe("live");
  expect(invalidate).toHaveBeenCalledWith({ queryKey: keys.runs.all });
  invalidate.mockClear();
  act(() => hear(queries, news(2)));
  // Progress alone changes numbers in place; nothing is asked again.
  expect(invalidate).not.toHaveBeenCalled();
  expect(result.current.traces.r1?.map((point) => point.iteration)).toEqual([1, 2]);
  act(() => hear(queries, news(3, "succeeded")));
  expect(invalidate).toHaveBeenCalledWith({ queryKey: keys.overview });
  act(() => hear(queries, { kind: "system", id: "s", model_version: 3, only: "overlay" }));
  expect(invalidate).toHaveBeenCalledWith({ queryKey: keys.catalog.kind("overlays") });
  expect(invalidate).not.toHaveBeenCalledWith({ queryKey: keys.catalog.all });
  act(() => hear(queries, { kind: "system", id: "s", model_version: 4 }));
  expect(invalidate).toHaveBeenCalledWith({ queryKey: keys.catalog.all });
});

it("freshens what the kind of a run moves, and of whom nothing is said, all", () => {
  const queries = new QueryClient();
  const invalidate = vi.spyOn(queries, "invalidateQueries");
  const { result } = renderHook(() => useLive());
  act(() => hear(queries, { ...news(1), id: "kind-1", run_kind: "study" }));
  expect(result.current.runs["kind-1"]?.kind).toBe("study");
  expect(invalidate).toHaveBeenCalledWith({ queryKey: keys.studies.all });
  expect(invalidate).not.toHaveBeenCalledWith({ queryKey: keys.evaluations.all });
  act(() => hear(queries, { ...news(1), id: "kind-2" }));
  expect(result.current.runs["kind-2"]?.kind).toBe("");
  expect(invalidate).toHaveBeenCalledWith({ queryKey: keys.evaluations.all });
  act(() => hear(queries, { kind: "snapshot", runs: [{ ...news(1), run_kind: "overlay" }] }));
  expect(result.current.runs.r1?.kind).toBe("overlay");
});

it("asks again about plans and executions at once, then at a pace, and never misses the last", async () => {
  vi.useFakeTimers();
  const queries = new QueryClient();
  const invalidate = vi.spyOn(queries, "invalidateQueries");
  const asked = (queryKey: readonly unknown[]) =>
    invalidate.mock.calls.filter(
      ([given]) => JSON.stringify(given?.queryKey) === JSON.stringify(queryKey),
    ).length;
  const news = { kind: "execution", id: "e1", plan: "p1", system: "s", state: "running" } as const;
  for (let i = 0; i < 20; i += 1) act(() => hear(queries, news));
  expect(asked(keys.executions.one("e1"))).toBe(1);
  await act(() => vi.advanceTimersByTimeAsync(PACE_MS));
  expect(asked(keys.executions.one("e1"))).toBe(2);
  await act(() => vi.advanceTimersByTimeAsync(10 * PACE_MS));
  expect(asked(keys.executions.one("e1"))).toBe(2);
  act(() => hear(queries, { kind: "telemetry", system: "s" }));
  expect(asked(keys.telemetry.system("s"))).toBe(1);
  // The plan itself is asked about only when the execution moves to another state.
  expect(asked(keys.plans.all)).toBe(1);
  act(() => hear(queries, { ...news, state: "succeeded" }));
  expect(asked(keys.plans.all)).toBe(2);
  vi.useRealTimers();
});

it("asks for nothing while nobody looks, and for what it missed when somebody does", () => {
  const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  const queries = new QueryClient();
  const invalidate = vi.spyOn(queries, "invalidateQueries");
  const refetch = vi.spyOn(queries, "refetchQueries");
  act(() => hear(queries, { kind: "recomputation", system: "unseen" }));
  expect(invalidate).toHaveBeenCalledWith({
    queryKey: keys.recomputation.all,
    refetchType: "none",
  });
  vi.stubGlobal(
    "EventSource",
    class {
      close = vi.fn();
    },
  );
  const close = listen(queries);
  hidden.mockReturnValue(false);
  document.dispatchEvent(new Event("visibilitychange"));
  expect(refetch).toHaveBeenCalledWith({ type: "active", stale: true });
  act(() => close());
  vi.unstubAllGlobals();
  hidden.mockRestore();
});

it("lets a slow answer come before it asks again", async () => {
  vi.useFakeTimers();
  const queries = new QueryClient();
  let answer: () => void = () => undefined;
  let asked = 0;
  // Other features hear of measurements, too.
  const slow = JSON.stringify(keys.telemetry.system("slow"));
  vi.spyOn(queries, "invalidateQueries").mockImplementation((filters) => {
    if (JSON.stringify(filters?.queryKey) !== slow) return Promise.resolve();
    asked += 1;
    return new Promise((resolve) => (answer = resolve));
  });
  const news = { kind: "telemetry", system: "slow" } as const;
  for (let i = 0; i < 4; i += 1) {
    act(() => hear(queries, news));
    await act(() => vi.advanceTimersByTimeAsync(PACE_MS));
  }
  expect(asked).toBe(1);
  answer();
  await act(() => vi.advanceTimersByTimeAsync(PACE_MS));
  expect(asked).toBe(2);
  vi.useRealTimers();
});

it("forgets runs that ended while nothing was heard", () => {
  const queries = new QueryClient();
  const { result } = renderHook(() => useLive());
  act(() => hear(queries, { ...news(1), id: "lost" }));
  expect(result.current.runs.lost?.state).toBe("running");
  act(() => hear(queries, { kind: "snapshot", runs: [] }));
  expect(result.current.runs.lost).toBeUndefined();
});

describe("the stream", () => {
  class Stream {
    static readonly CLOSED = 2;
    static opened: Stream[] = [];
    readyState = 1;
    onmessage: ((event: { data: string }) => void) | null = null;
    onerror: (() => void) | null = null;
    constructor() {
      Stream.opened.push(this);
    }
    close() {
      this.readyState = Stream.CLOSED;
    }
    say(message: object) {
      this.onmessage?.({ data: JSON.stringify(message) });
    }
    fail(state: number) {
      this.readyState = state;
      this.onerror?.();
    }
  }

  it("is offline only when a reconnect fails, and asks again for everything afterwards", () => {
    vi.useFakeTimers();
    vi.stubGlobal("EventSource", Stream);
    const queries = new QueryClient();
    const invalidate = vi.spyOn(queries, "invalidateQueries");
    const { result } = renderHook(() => useLive());
    const close = listen(queries);
    const first = Stream.opened[0];
    act(() => first?.say({ kind: "heartbeat" }));
    expect(result.current.status).toBe("live");
    // The server ends every stream after a while; the browser reconnects by itself.
    act(() => first?.fail(0));
    expect(result.current.status).toBe("connecting");
    act(() => first?.fail(Stream.CLOSED));
    expect(result.current.status).toBe("offline");
    expect(result.current.offlineSince).not.toBeNull();
    void act(() => vi.advanceTimersByTime(5000));
    expect(Stream.opened).toHaveLength(2);
    invalidate.mockClear();
    act(() => Stream.opened[1]?.say({ kind: "heartbeat" }));
    expect(result.current.status).toBe("live");
    expect(invalidate).toHaveBeenCalledWith();
    act(() => {
      close();
    });
    expect(result.current.status).toBe("connecting");
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
});
