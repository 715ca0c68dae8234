/** From a placement to a draft plan: whether brokers hold what exceeds their parts, or count it, and
 * whether parts follow the traffic. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { orderOf } from "./adaptation";
import {
  AdaptationFields,
  draftOf,
  orderOfDraft,
  refusedOf,
  type Draft,
} from "./adaptation-fields";
import { isUsed } from "./outcome";
import { WhatBecomesOfPublishers } from "./sentences";

import { adaptationQuery, type Adaptation } from "@/api/adaptation";
import {
  planFromPlacement,
  type PartMode,
  type PlacementDetail,
  type PlacementPlanRequest,
} from "@/api/placements";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { ConfirmDialog, Note } from "@/components/ui/dialogs";
import { Segments } from "@/components/ui/page";
import { Failure, Loading } from "@/components/ui/panel";
import { to } from "@/lib/kinds";
import { countText, fixed, rateText } from "@/lib/numbers";
import { complaintsOf, type FieldProblem } from "@/lib/problem";

const MODES: readonly { value: PartMode; label: string }[] = [
  { value: "enforce", label: "Hold what exceeds a part" },
  { value: "count", label: "Only count it" },
];

/** What becomes of the adaptation: nothing is said of it where there is none and none is wanted. */
function adaptationAsked(
  mode: PartMode,
  draft: Draft,
  now: Adaptation | undefined,
): Pick<PlacementPlanRequest, "adaptation"> {
  if (!now) return {};
  if (mode === "enforce" && draft.isOn) return { adaptation: orderOfDraft(draft) };
  return orderOf(now) === null ? {} : { adaptation: null };
}

/** What the plan does with an order that is in force. */
function WhatBecomesOfOrder({
  mode,
  draft,
  now,
}: {
  mode: PartMode;
  draft: Draft;
  now: Adaptation;
}) {
  if (orderOf(now) === null) return null;
  if (mode === "count" || !draft.isOn)
    return (
      <Note tone="warn">
        Parts are adapted to traffic now. The plan ends that: they come back to those in force
        {mode === "count" ? ", as parts that are only counted hold nothing" : " and stay there"}.
      </Note>
    );
  return now.state === "stopped" ? (
    <Note>
      The adaptation was stopped by {now.stopped_by || "Weir"}. It stays so, whatever the plan
      changes: <i>Resume</i> on this page lets parts move again.
    </Note>
  ) : null;
}

export function MakePlan({
  placement,
  primary = true,
  adapts = false,
}: {
  placement: PlacementDetail;
  /** One command of a page is. */
  primary?: boolean;
  /** The dialog opens with the parts adapted to traffic. */
  adapts?: boolean;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [mode, setMode] = useState<PartMode>("enforce");
  const [typed, setTyped] = useState<Draft | null>(null);
  const [errors, setErrors] = useState<FieldProblem[]>([]);
  const { topic, outcome } = placement;
  const may = placement.allowed_commands.includes("plan");
  const adaptation = useQuery({
    ...adaptationQuery(topic ?? ""),
    enabled: may && asking && topic !== null,
  });
  if (!may) return null;
  const { moved, contract, shares } = outcome;
  const used = shares.filter(isUsed);
  const { data: now } = adaptation;
  const order = now ? orderOf(now) : null;
  // Until somebody types, the fields are those of the order in force.
  const draft = typed ?? draftOf(order, adapts || order !== null);
  // What becomes of an order is not known before; without an answer none can be planned.
  const isKnown = topic === null || now !== undefined || (adaptation.isError && !adapts);
  const isReady =
    isKnown &&
    (mode === "count" || !now || !draft.isOn || Object.keys(refusedOf(draft)).length === 0);
  const close = () => {
    setAsking(false);
    setTyped(null);
    setErrors([]);
  };
  const make = async () => {
    setErrors([]);
    try {
      const asked = { title: "", mode, ...adaptationAsked(mode, draft, now) };
      const plan = await planFromPlacement(placement.id, asked);
      await queries.invalidateQueries({ queryKey: keys.plans.all });
      await navigate(to.plan(plan.id));
    } catch (error) {
      setErrors(complaintsOf(error));
      throw error;
    }
  };
  return (
    <>
      <Command icon="plan" primary={primary} onClick={() => setAsking(true)}>
        {adapts ? "Plan the adaptation" : "Make a plan"}
      </Command>
      <ConfirmDialog
        title={`Make a plan of ${placement.name}`}
        command="Make a plan"
        dangerous={false}
        open={asking}
        onClose={close}
        ready={isReady}
        run={make}
      >
        <p>
          The bucket of {placement.topic_name}, {rateText(contract.token_rate_per_s)} tokens/s and{" "}
          {fixed(contract.bucket)} tokens, is split over {countText(used.length, "broker")}:{" "}
          {used
            .slice(0, 4)
            .map(({ broker, token_rate_per_s: rate }) => `${broker} ${rateText(rate)}/s`)
            .join(", ")}
          {used.length > 4 ? ` and ${countText(used.length - 4, "other")}` : ""}. What shrinks comes
          first, so that the parts never add up to more.
        </p>
        <Segments label="What brokers do" value={mode} options={MODES} onChange={setMode} />
        <p>
          {mode === "count"
            ? "Nothing is held. Each broker counts what its part would hold, and for how long."
            : "What exceeds a broker\u2019s part waits there until tokens have come."}
        </p>
        {mode === "enforce" || moved > 0 ? (
          <Note tone={mode === "enforce" ? "warn" : ""}>
            <WhatBecomesOfPublishers mode={mode} moved={moved} />
          </Note>
        ) : null}
        {mode === "enforce" && now ? (
          <AdaptationFields draft={draft} onChange={setTyped} errors={errors} />
        ) : null}
        {now ? <WhatBecomesOfOrder mode={mode} draft={draft} now={now} /> : null}
        {!isKnown && !adaptation.isError ? (
          <Loading rows={1} label="Loading the adaptation" />
        ) : null}
        {adaptation.error && !now ? (
          <Failure
            error={adaptation.error}
            what="The adaptation"
            retry={() => void adaptation.refetch()}
          />
        ) : null}
        {adaptation.error && !now && !adapts ? (
          <Note>
            If parts are adapted to traffic, the plan{" "}
            {mode === "count" ? "ends that." : "leaves that as it is."}
          </Note>
        ) : null}
      </ConfirmDialog>
    </>
  );
}
