import { act, renderHook } from "@testing-library/react";
import { describe, expect, it } from "vitest";

import { ProblemError } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

const refused = new ProblemError({
  status: 400,
  code: "invalid",
  title: "Invalid",
  detail: "Two things are wrong.",
  errors: [
    { field: "name", message: "is taken" },
    { field: "owner", message: "is unknown" },
  ],
});

describe("a form that is sent", () => {
  it("keeps what the server refuses, and forgets it when it is sent again", async () => {
    const { result } = renderHook(() => useSubmission(["name"]));
    await act(() => result.current.send(() => Promise.reject(refused)));
    expect(result.current.errors).toHaveLength(2);
    expect(result.current.others).toEqual([{ field: "owner", message: "is unknown" }]);
    expect(result.current.busy).toBe(false);
    await act(() => result.current.send(() => Promise.resolve()));
    expect(result.current.errors).toEqual([]);
  });

  it("is busy until the answer", async () => {
    const { result } = renderHook(() => useSubmission());
    let answer: () => void = () => undefined;
    const sent: { over?: Promise<void> } = {};
    act(() => {
      sent.over = result.current.send(() => new Promise<void>((done) => (answer = done)));
    });
    expect(result.current.busy).toBe(true);
    await act(async () => {
      answer();
      await sent.over;
    });
    expect(result.current.busy).toBe(false);
  });

  it("says what concerns no field in words, unless somebody takes care of it", async () => {
    const { result } = renderHook(() => useSubmission());
    const broken = () => Promise.reject(new TypeError("fetch failed"));
    await act(() => result.current.send(broken));
    expect(result.current.others[0]?.message).toMatch(/cannot be reached/);
    await act(() => result.current.send(broken, () => true));
    expect(result.current.errors).toEqual([]);
  });
});
