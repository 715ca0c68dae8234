/** What schedules and triggers have in common: method, time limit, what happens then, paused. */
import { useQuery } from "@tanstack/react-query";

import { THENS } from "./words";

import { optimizersQuery } from "@/api/allocations";
import { CheckField, ChoiceField, NumberField } from "@/components/ui/fields";
import { messageFor, type FieldProblem } from "@/lib/problem";

type Shared = { method: string; limit: string; then: string; enabled: boolean };

export function RuleFields({
  draft,
  set,
  errors,
}: {
  draft: Shared;
  set: (change: Partial<Shared>) => void;
  errors: readonly FieldProblem[];
}) {
  const optimizers = useQuery(optimizersQuery);
  const methods = (optimizers.data?.results ?? []).map((row) => ({
    value: row.name,
    label: row.title,
  }));
  return (
    <>
      <div className="grid2">
        <ChoiceField
          label="Method"
          required={false}
          options={methods}
          value={draft.method}
          onChange={(method) => set({ method })}
          hint="Left open: the installation's own."
          error={messageFor(errors, "method")}
        />
        <NumberField
          label="Time limit"
          unit="s"
          required={false}
          value={draft.limit}
          onChange={(limit) => set({ limit })}
          hint="The best answer so far counts."
          error={messageFor(errors, "time_limit_s")}
        />
      </div>
      <ChoiceField
        label="Then"
        required
        options={THENS}
        value={draft.then}
        onChange={(then) => set({ then })}
        hint="No plan is made where nothing is worth a change. What is submitted the policy may approve by itself; whoever saves this does not decide about it, and an operator executes."
        error={messageFor(errors, "then")}
      />
      <CheckField
        label="Enabled"
        value={draft.enabled}
        onChange={(enabled) => set({ enabled })}
        error={messageFor(errors, "enabled")}
      />
    </>
  );
}
