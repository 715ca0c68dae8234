/** The fields of one policy. Rules and windows are lists; everything is saved together. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { bodyOf, draftOf, type PolicyDraft } from "./policy-draft";
import { JudgementPanel, type Figure } from "./policy-judgement";
import { RulesPanel } from "./policy-rules";
import { WindowsPanel } from "./policy-windows";

import { policyUpdate, type Policy } from "@/api/policies";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { Note } from "@/components/ui/dialogs";
import { CheckField, ChoiceField, NumberField, TextField } from "@/components/ui/fields";
import { Panel } from "@/components/ui/panel";
import { tell } from "@/components/ui/toast";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

const DRAWN = [
  "approval_rules",
  "windows",
  "auto_approve_max_share",
  "auto_approve_max_change",
  "auto_execute",
  "auto_execute_max_share",
  "auto_execute_max_rate_change",
  "auto_execute_max_consumers_change",
  "auto_execute_per_day",
  "auto_execute_after",
  "max_parallel_actions",
  "pace_s",
  "roll_back_pace_s",
  "enactment_threshold",
  "enactment_band",
  "enactment_dwell_s",
  "churn_per_consumer",
  "churn_per_rate_change",
  "approval_ttl_s",
  "pause_when_window_closes",
  "remove_after_s",
  "demand_band",
  "judge_window_s",
  "rate_control",
  "rate_control_band",
  "reason",
];

const EXECUTE = [
  { value: "off", label: "Off" },
  { value: "dry", label: "Dry run" },
  { value: "on", label: "On" },
];

const EXECUTE_HINTS: Record<string, string> = {
  off: "People decide about every plan.",
  dry: "People decide; what Weir would have carried out is recorded, with what it promised.",
  on: "Weir approves and carries out what is within these bounds, measures it, and takes it back where what it promised does not come.",
};

export function PolicyForm({ policy, name }: { policy: Policy; name: string }) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState<PolicyDraft>(() => draftOf(policy));
  const [reason, setReason] = useState("");
  const { errors, setErrors, busy, send, others } = useSubmission(DRAWN);
  const may = policy.allowed_commands.includes("edit");
  const changed = JSON.stringify(draft) !== JSON.stringify(draftOf(policy));
  const set = (change: Partial<PolicyDraft>) => setDraft({ ...draft, ...change });
  const save = async () => {
    const made = bodyOf(draft);
    if ("errors" in made) {
      setErrors(made.errors);
      return;
    }
    await send(async () => {
      await policyUpdate(policy.id, policy.version, { ...made.body, reason });
      await queries.invalidateQueries({ queryKey: keys.policies.all });
      void queries.invalidateQueries({ queryKey: keys.plans.all });
      tell(`Saved the policy of ${name}`);
    });
  };
  const field = (label: string, key: Figure, api: string, unit: string, hint: string) => (
    <NumberField
      label={label}
      unit={unit}
      hint={hint}
      disabled={!may}
      value={draft[key]}
      onChange={(value) => set({ [key]: value })}
      error={messageFor(errors, api)}
    />
  );
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      <RulesPanel draft={draft} set={set} errors={errors} may={may} />
      <WindowsPanel draft={draft} set={set} errors={errors} may={may} />
      <div className="cols c-2">
        <div className="stack">
          <Panel title="Approved without a person" sub="small plans, an operator executes them">
            <div className="form grid2">
              {field(
                "At most, of all brokers",
                "autoShare",
                "auto_approve_max_share",
                "%",
                "0 % means that a person approves every plan. Plans of whoever set this wait for somebody else.",
              )}
              {field(
                "At most, change of a value",
                "autoChange",
                "auto_approve_max_change",
                "%",
                "Of any rate or limit, against what it was.",
              )}
            </div>
          </Panel>
          <Panel
            title="Carried out without a person"
            sub="plans of schedules and triggers that ask for it"
          >
            <div className="form grid2">
              <ChoiceField
                label="Weir carries plans out by itself"
                required
                options={EXECUTE}
                value={draft.execute}
                onChange={(execute) => (may ? set({ execute }) : undefined)}
                hint={EXECUTE_HINTS[draft.execute]}
                error={messageFor(errors, "auto_execute")}
              />
              {field(
                "After plans that went well",
                "executeAfter",
                "auto_execute_after",
                "plans",
                "That people approved and that brought what they promised; counted anew whenever one that Weir began went wrong.",
              )}
              {field(
                "At most, of all brokers",
                "executeShare",
                "auto_execute_max_share",
                "%",
                "Brokers that a plan touches.",
              )}
              {field(
                "At most, begun in 24 hours",
                "executePerDay",
                "auto_execute_per_day",
                "plans",
                "Within the maintenance windows, one at a time.",
              )}
              {field(
                "At most, change of a rate",
                "executeRate",
                "auto_execute_max_rate_change",
                "%",
                "Of a rate or bucket: a share of the larger, old or new.",
              )}
              {field(
                "At most, change of consumers",
                "executeConsumers",
                "auto_execute_max_consumers_change",
                "%",
                "Of a limit of a class, such a share; 100 % lets 0 become anything.",
              )}
            </div>
          </Panel>
          <Panel title="Rate control" sub="every second, between two plans">
            <div className="form grid2">
              <CheckField
                label="Follow the load"
                hint="Rates rise while there is room and fall where a broker is congested."
                value={draft.rateControl}
                onChange={(rateControl) => (may ? set({ rateControl }) : undefined)}
                error={messageFor(errors, "rate_control")}
              />
              {field(
                "Around the approved rate, up and down",
                "band",
                "rate_control_band",
                "%",
                "Further it never goes without a new plan.",
              )}
            </div>
          </Panel>
        </div>
        <div className="stack">
          <Panel title="Worth enacting, and for how long">
            <div className="form grid2">
              {field(
                "Least gain of utility",
                "threshold",
                "enactment_threshold",
                "%",
                "A smaller gain makes no plan; 0 % plans any change.",
              )}
              {field(
                "An approval holds for",
                "ttl",
                "approval_ttl_s",
                "h",
                "After that the plan goes back to review.",
              )}
            </div>
          </Panel>
          <Panel title="Pace of an execution">
            <div className="form grid2">
              {field(
                "Actions at the same time",
                "parallel",
                "max_parallel_actions",
                "actions",
                "Never two on one link or broker of the overlay.",
              )}
              {field("Pause between steps", "pace", "pace_s", "s", "Time to look before the next.")}
              {field(
                "Pause while rolling back",
                "rollBackPace",
                "roll_back_pace_s",
                "s",
                "Between its steps; 0 s: an emergency does not wait.",
              )}
              <CheckField
                label="Pause when a maintenance window closes"
                hint="The running step ends first; the plan goes on when the window opens. Without it a plan that has begun is carried out to its end."
                value={draft.pauses}
                onChange={(pauses) => (may ? set({ pauses }) : undefined)}
                error={messageFor(errors, "pause_when_window_closes")}
              />
              {field(
                "Silence until a broker counts as gone",
                "removeAfter",
                "remove_after_s",
                "min",
                "A plan may remove it then; what it alone holds is lost.",
              )}
              {field(
                "Demand that may move",
                "demandBand",
                "demand_band",
                "%",
                "More since a plan of rates was made ends it, where measured demand is used; 100 % never does.",
              )}
              {field(
                "Measured before and after a plan",
                "judgeWindow",
                "judge_window_s",
                "min",
                "1 to 15 min: what came of a plan is known so long after it. Longer tells smaller changes from noise.",
              )}
            </div>
          </Panel>
        </div>
      </div>
      <JudgementPanel field={field} />
      <Panel title="Save">
        {may ? (
          <div style={{ display: "flex", gap: 12, alignItems: "end", flexWrap: "wrap" }}>
            <div style={{ flex: "1 1 320px" }}>
              <TextField
                label="Reason"
                required={false}
                hint="Kept in the history."
                maxLength={500}
                value={reason}
                onChange={setReason}
                error={messageFor(errors, "reason")}
              />
            </div>
            <button
              type="button"
              className="btn"
              disabled={!changed}
              onClick={() => {
                setDraft(draftOf(policy));
                setErrors([]);
              }}
            >
              Discard
            </button>
            <Command
              primary
              type="submit"
              disabled={busy || !changed}
              reason="Nothing changed yet."
            >
              Save policy
            </Command>
          </div>
        ) : (
          <p className="muted">Policies are changed by an administrator.</p>
        )}
      </Panel>
    </form>
  );
}
