/** From a placement to a draft plan: whether brokers hold what exceeds their parts, or count it. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { isUsed } from "./outcome";
import { WhatBecomesOfPublishers } from "./sentences";

import { planFromPlacement, type PartMode, type PlacementDetail } from "@/api/placements";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { ConfirmDialog, Note } from "@/components/ui/dialogs";
import { Segments } from "@/components/ui/page";
import { to } from "@/lib/kinds";
import { countText, fixed, rateText } from "@/lib/numbers";

const MODES: readonly { value: PartMode; label: string }[] = [
  { value: "enforce", label: "Hold what exceeds a part" },
  { value: "count", label: "Only count it" },
];

export function MakePlan({
  placement,
  primary = true,
}: {
  placement: PlacementDetail;
  /** One command of a page is. */
  primary?: boolean;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [mode, setMode] = useState<PartMode>("enforce");
  if (!placement.allowed_commands.includes("plan")) return null;
  const { moved, contract, shares } = placement.outcome;
  const used = shares.filter(isUsed);
  const make = async () => {
    const plan = await planFromPlacement(placement.id, { title: "", mode });
    await queries.invalidateQueries({ queryKey: keys.plans.all });
    await navigate(to.plan(plan.id));
  };
  return (
    <>
      <Command icon="plan" primary={primary} onClick={() => setAsking(true)}>
        Make a plan
      </Command>
      <ConfirmDialog
        title={`Make a plan of ${placement.name}`}
        command="Make a plan"
        dangerous={false}
        open={asking}
        onClose={() => setAsking(false)}
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
      </ConfirmDialog>
    </>
  );
}
