/** What becomes of publishers, whether and why this many brokers, and what would make the split free: the words with their numbers. */
import { chosenOf, headroomOf } from "./outcome";

import type { Outcome, PartMode, Promised, SplitOption } from "@/api/placements";
import { Badge } from "@/components/ui/state-badge";
import { countText, delayText, fixed, percentText, significant } from "@/lib/numbers";

export function delay(seconds: number | null): string {
  const { text, unit } = delayText(seconds);
  return seconds === null ? "no bound" : `${text} ${unit}`;
}

/** What the topic is promised: "1.00 ms", "0.50 ms on average", or both; null: nothing. */
export function promiseText({ slo_p99_s: p99, slo_mean_s: mean = null }: Promised): string | null {
  const each = [
    ...(p99 === null ? [] : [delay(p99)]),
    ...(mean === null ? [] : [`${delay(mean)} on average`]),
  ];
  return each.length > 0 ? each.join(" and ") : null;
}

/** The same with the name of each: "SLO p99 1.00 ms, mean 0.50 ms". */
export function sloText({ slo_p99_s: p99, slo_mean_s: mean = null }: Promised): string | null {
  const each = [
    ...(p99 === null ? [] : [`p99 ${delay(p99)}`]),
    ...(mean === null ? [] : [`mean ${delay(mean)}`]),
  ];
  return each.length > 0 ? `SLO ${each.join(", ")}` : null;
}

const parts = ({ processing_p99_s: processing, penalty_s: penalty }: SplitOption) =>
  `${delay(processing)} processing and ${delay(penalty)} penalty`;

const brokers = (count: number) => countText(count, "broker");

/** Who finds no room, and how many brokers more would hold them. */
export function noRoom({ unassigned, need_brokers: need }: Outcome): string {
  const who = `${countText(unassigned, "publisher finds", "publishers find")} no room.`;
  return need === null
    ? `${who} Further brokers alone would not help.`
    : `${who} ${countText(need, "further broker", "further brokers")} as large as the largest would hold ${unassigned === 1 ? "it" : "them"}.`;
}

/** Whether a prediction keeps to the objective: nothing is said where there is none. */
export function SloBadge({ meets }: { meets: boolean | null }) {
  if (meets === null) return <span className="faint">no SLO</span>;
  return meets ? (
    <Badge tone="good" icon="check">
      Meets
    </Badge>
  ) : (
    <Badge tone="warn" icon="alert">
      Misses
    </Badge>
  );
}

export function Why({ outcome }: { outcome: Outcome }) {
  if (outcome.status === "infeasible") return <>{noRoom(outcome)}</>;
  const one = chosenOf(outcome);
  if (!one) return null;
  const { curve, contract } = outcome;
  const slo = promiseText(contract);
  const fitting = curve.filter(({ fits }) => fits);
  const meeting = curve.filter(({ meets }) => meets === true);
  const last = fitting.at(-1);
  const rises = fitting.length > 1 && last !== undefined && (last.penalty_s ?? 1) > 0;
  const bold = <b>{brokers(one.brokers)}</b>;
  const is = one.brokers === 1 ? "is" : "are";
  return (
    <>
      {rises ? "Fewer brokers wait on processing, more brokers wait on tokens. " : null}
      {one.p99_s === null ? (
        <>
          With {bold} the delay grows without bound
          {meeting[0] ? `; ${brokers(meeting[0].brokers)} would keep it under ${slo}` : ""}.
        </>
      ) : slo === null ? (
        <>
          {bold} {is}{" "}
          {fitting[0] === one
            ? "the fewest that have room"
            : "what the method takes; the topic has no SLO"}
          : {parts(one)}.
        </>
      ) : one.meets ? (
        <>
          {bold}{" "}
          {meeting[0] === one
            ? `${is} the fewest that ${one.brokers === 1 ? "stays" : "stay"} under ${slo}`
            : one.moved === 0
              ? `${one.brokers === 1 ? "stays" : "stay"} under ${slo} and no publisher has to move`
              : `${one.brokers === 1 ? "stays" : "stay"} under ${slo}, as ${brokers(meeting[0]?.brokers ?? 0)} would`}
          : {parts(one)}.
        </>
      ) : meeting[0] ? (
        <>
          {bold} {one.brokers === 1 ? "misses" : "miss"} {slo} with {parts(one)};{" "}
          {brokers(meeting[0].brokers)} would meet it.
        </>
      ) : (
        <>
          No number of brokers stays under {slo}; {bold} {one.brokers === 1 ? "comes" : "come"}{" "}
          closest with {parts(one)}.
        </>
      )}
    </>
  );
}

/** From which bucket on the number of brokers that is taken costs no wait for tokens. */
export function FreeBucket({ outcome }: { outcome: Outcome }) {
  const one = chosenOf(outcome);
  if (outcome.status === "infeasible" || !one) {
    return (
      <>
        <b>Not all publishers have room.</b> {noRoom(outcome)}
      </>
    );
  }
  const { free_bucket: free } = one;
  const { contract } = outcome;
  const refused =
    outcome.meets === false ? (
      <>
        <b>No split meets the SLO.</b> Raise the bucket, the token rate or the SLO.{" "}
      </>
    ) : null;
  if (free === null) {
    return (
      refused ?? (
        <>
          <b>No bucket makes {brokers(one.brokers)} free of penalty.</b>
          {headroomOf(outcome) > 0 ? null : " The token rate is no more than the topic rate."}
        </>
      )
    );
  }
  const whole = Math.ceil(free - 1e-9);
  const headroom = headroomOf(outcome);
  const need = `${one.brokers === 1 ? "It" : "Each share"} needs ${significant(free / one.brokers, 3)} tokens at ${percentText(headroom, headroom < 0.095 ? 1 : 0).replace(" ", "\u00a0")} above the topic rate.`;
  return (
    <>
      {refused}
      <b>
        {contract.bucket >= free
          ? `A bucket of ${fixed(whole)} tokens is enough to make ${brokers(one.brokers)} free of penalty.`
          : `A bucket of ${fixed(whole)} tokens makes ${brokers(one.brokers)} free of penalty.`}
      </b>{" "}
      {need}
    </>
  );
}

/** What a plan of a placement does with who publishes the topic. */
export function WhatBecomesOfPublishers({ mode, moved }: { mode: PartMode; moved: number }) {
  if (mode === "count") {
    return moved === 0 ? null : (
      <>
        Nobody is moved: {countText(moved, "publisher")} would have to connect elsewhere, and stay
        where they are as long as parts are only counted.
      </>
    );
  }
  return (
    <>
      {moved > 0 ? (
        <>
          {countText(moved, "publisher has", "publishers have")} to connect elsewhere: each is
          released, all that it sent passes, then it is let in at its new broker. That is a pause of
          a few seconds for each, longer where messages wait before a gate. Their names are below on
          this page.{" "}
        </>
      ) : null}
      Then each broker lets in its own publishers and nobody else. Clients have to ask where they
      belong: <i>A publisher that follows</i> in <code>docs/agent.md</code> shows one that does.
    </>
  );
}
