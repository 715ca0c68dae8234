import { bodyOf, drainedOr, moved, scalesOf, withMore } from "./what-if";

import { outcome } from "@/testing/placement-samples";

const stored = outcome();
const scaleOf = (lever: string, of = stored) => {
  const found = scalesOf(of).find((scale) => scale.lever === lever);
  if (!found) throw new Error(`no slider for ${lever}`);
  return found;
};

it("has sliders around what is stored", () => {
  expect(scaleOf("rate").steps).toEqual({ min: 40_000, max: 160_000, step: 1000 });
  expect(scaleOf("headroom").start).toBe(10);
  expect(scaleOf("bucket").steps).toEqual({ min: 10, max: 240, step: 1 });
  expect(scaleOf("slo").steps).toEqual({ min: 0.3, max: 2, step: 0.05 });
  expect(scaleOf("groupSize").start).toBe(120);
});

it("rounds what it shows of a token rate, and sends it as it is", () => {
  const odd = outcome({
    contract: { ...stored.contract, rate_per_s: 11_982, token_rate_per_s: 13_180 },
  });
  expect(scaleOf("headroom", odd)).toMatchObject({ start: 10, steps: { min: 1, max: 30 } });
  expect(bodyOf(odd, { rate: 23_964 })?.token_rate_per_s).toBeCloseTo(26_360, 6);
  expect(scaleOf("slo").decimals).toBe(2);
});

it("begins without an objective at what is predicted, and sends none until it is moved", () => {
  const free = outcome({ contract: { ...stored.contract, slo_p99_s: null } });
  const slo = scaleOf("slo", free);
  expect(slo).toMatchObject({ start: 0.68, stored: null });
  expect(bodyOf(free, moved({}, slo, 0.68))).toEqual({ slo_p99_s: 0.00068 });
});

it("reaches the bucket that makes the split free", () => {
  const curve = stored.curve.map((one) => (one.chosen ? { ...one, free_bucket: 1000 } : one));
  expect(scaleOf("bucket", outcome({ curve })).steps.max).toBe(1250);
});

it("asks for what differs alone", () => {
  expect(bodyOf(stored, {})).toBeNull();
  expect(bodyOf(stored, moved({}, scaleOf("bucket"), 48))).toBeNull();
  expect(bodyOf(stored, { headroom: 25 })).toEqual({ token_rate_per_s: 125_000 });
  expect(bodyOf(stored, { rate: 80_000 })).toEqual({
    ...{ rate_per_s: 80_000, token_rate_per_s: 88_000 },
  });
  expect(bodyOf(stored, { batch: 4, groupSize: 30 })).toEqual({ batch: 4, group_size: 30 });
});

it("drains instead of what was drained, and counts what is added", () => {
  const none = drainedOr({}, ["q-9"], "q-9");
  expect(bodyOf(stored, none)).toEqual({ drained_brokers: [] });
  expect(bodyOf(stored, drainedOr(none, ["q-9"], "q-9"))).toBeNull();
  expect(bodyOf(stored, withMore(withMore({}, 1), 1))).toEqual({ added_brokers: 2 });
  expect(bodyOf(stored, withMore({ added: 1 }, -1))).toBeNull();
  expect(withMore({ added: 16 }, 1).added).toBe(16);
});
