/** What schedules and triggers have in common: subject, method, time limit, what happens then, paused. */
import { useQuery } from "@tanstack/react-query";

import { SUBJECTS, THENS } from "./words";

import { optimizersQuery } from "@/api/allocations";
import { methodsQuery } from "@/api/evaluations";
import type { Subject } from "@/api/recomputation";
import { CheckField, ChoiceField, NumberField } from "@/components/ui/fields";
import { messageFor, type FieldProblem } from "@/lib/problem";

type Shared = {
  subject: Subject;
  method: string;
  benefit: string;
  limit: string;
  then: string;
  enabled: boolean;
  takeOver: boolean;
};

export function RuleFields({
  draft,
  set,
  errors,
  answerable,
}: {
  draft: Shared;
  set: (change: Partial<Shared>) => void;
  errors: readonly FieldProblem[];
  /** Who answers for its plans now; nobody yet where it is new. */
  answerable?: string | null;
}) {
  const overlay = draft.subject === "overlay";
  const optimizers = useQuery({ ...optimizersQuery, enabled: !overlay });
  const designers = useQuery({ ...methodsQuery, enabled: overlay });
  const known = overlay ? designers.data?.results : optimizers.data?.results;
  const methods = (known ?? []).map((row) => ({ value: row.name, label: row.title }));
  return (
    <>
      <div className="grid2">
        <ChoiceField
          label="Recomputes"
          required
          options={SUBJECTS.map(({ value, label }) => ({ value, label }))}
          value={draft.subject}
          // Each has methods of its own.
          onChange={(subject) => set({ subject: subject as Subject, method: "" })}
          hint={SUBJECTS.find(({ value }) => value === draft.subject)?.about}
          error={messageFor(errors, "subject")}
        />
        {overlay ? (
          <NumberField
            label="Least net benefit"
            unit="link messages"
            value={draft.benefit}
            onChange={(benefit) => set({ benefit })}
            hint="Only a candidate worth more than this becomes a plan."
            error={messageFor(errors, "least_benefit")}
          />
        ) : null}
      </div>
      <div className="grid2">
        <ChoiceField
          label="Method"
          required={false}
          options={methods}
          value={draft.method}
          onChange={(method) => set({ method })}
          hint={overlay ? "Left open: all of them." : "Left open: the installation's own."}
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
      {answerable ? (
        <CheckField
          label="Answer for its plans from now on"
          value={draft.takeOver}
          onChange={(takeOver) => set({ takeOver })}
          hint={`${answerable} answers for them now and stays so unless you take it over. Nobody who changed this decides about its plans.`}
          error={messageFor(errors, "take_over")}
        />
      ) : null}
    </>
  );
}
