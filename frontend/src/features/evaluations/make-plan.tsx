/** From a candidate to a draft plan; where the frontier has two ends, which of them. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { planFromCandidate, type Candidate } from "@/api/evaluations";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { Segments } from "@/components/ui/page";
import { tellFailure } from "@/components/ui/toast";
import { to } from "@/lib/kinds";
import { countText } from "@/lib/numbers";

type Objective = "actions" | "steps";

/** The two ends of a frontier, where they differ: fewest actions, fewest steps. */
export function endsOf({ frontier }: Pick<Candidate, "frontier">) {
  const fewest = (by: (point: Candidate["frontier"][number]) => [number, number]) =>
    [...frontier].sort((a, b) => by(a)[0] - by(b)[0] || by(a)[1] - by(b)[1])[0];
  const actions = fewest((point) => [point.actions, point.steps_count]);
  const steps = fewest((point) => [point.steps_count, point.actions]);
  if (!actions || !steps || actions.steps_count === steps.steps_count) return null;
  return { actions, steps };
}

export function MakePlan({ candidate, reason }: { candidate: Candidate; reason?: string }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [objective, setObjective] = useState<Objective>("actions");
  const [busy, setBusy] = useState(false);
  const ends = endsOf(candidate);
  const may = candidate.allowed_commands.includes("plan");
  if (!may && !reason) return null;
  const make = async (chosen: Objective | "") => {
    const plan = await planFromCandidate(candidate.id, { title: "", objective: chosen });
    await queries.invalidateQueries({ queryKey: keys.plans.all });
    await navigate(to.plan(plan.id));
  };
  const makeTheOne = async () => {
    setBusy(true);
    try {
      await make("");
    } catch (caught) {
      tellFailure("No plan was made", caught);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Command
        icon="plan"
        primary
        disabled={busy || !may}
        reason={may ? undefined : reason}
        onClick={() => (ends ? setAsking(true) : void makeTheOne())}
      >
        Make a plan
      </Command>
      {ends ? (
        <ConfirmDialog
          title={`Make a plan of ${candidate.title}`}
          command="Make a plan"
          dangerous={false}
          open={asking}
          onClose={() => setAsking(false)}
          run={() => make(objective)}
        >
          <p>
            Two ways lead there. Fewer actions disturb fewer subscribers, fewer steps are sooner
            done.
          </p>
          <Segments
            label="Which way"
            value={objective}
            options={[
              {
                value: "actions",
                label: `${countText(ends.actions.actions, "action")} in ${countText(ends.actions.steps_count, "step")}`,
              },
              {
                value: "steps",
                label: `${countText(ends.steps.actions, "action")} in ${countText(ends.steps.steps_count, "step")}`,
              },
            ]}
            onChange={setObjective}
          />
        </ConfirmDialog>
      ) : null}
    </>
  );
}
