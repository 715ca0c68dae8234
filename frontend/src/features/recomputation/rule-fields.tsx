/** What schedules and triggers have in common: subject, method, time limit, what happens then, paused. */
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { subjectOf, subjects, type RuleDraft } from "./rule-draft";
import { THENS } from "./words";

import { keys } from "@/api/query-keys";
import { CheckField, ChoiceField, NumberField } from "@/components/ui/fields";
import { messageFor, type FieldProblem } from "@/lib/problem";

const PLANS =
  "No plan is made where nothing is worth a change. What is submitted the policy may approve by itself; whoever saves this does not decide about it, and an operator executes. Carried out without a person are only plans of rates and limits within the bounds of the policy; all others are submitted.";

export function RuleFields({
  draft,
  set,
  errors,
  answerable,
}: {
  draft: RuleDraft;
  set: (change: Partial<RuleDraft>) => void;
  errors: readonly FieldProblem[];
  /** Who answers for its plans now; nobody yet where it is new. */
  answerable?: string | null;
}) {
  const queries = useQueryClient();
  const subject = subjectOf(draft.subject);
  const known = useQuery({
    queryKey: keys.recomputation.methods(draft.subject),
    queryFn: () => subject?.methods(queries) ?? [],
    staleTime: Infinity,
  });
  const methods = (known.data ?? []).map(({ name, title }) => ({ value: name, label: title }));
  return (
    <>
      <div className="grid2">
        <ChoiceField
          label="Recomputes"
          required
          options={subjects().map(({ kind, label }) => ({ value: kind, label }))}
          value={draft.subject}
          // Each has methods of its own.
          onChange={(kind) => set({ subject: kind, method: "" })}
          hint={subject?.about}
          error={messageFor(errors, "subject")}
        />
        {subject?.benefit ? (
          <NumberField
            label="Least net benefit"
            unit={subject.benefit.unit}
            value={draft.benefit}
            onChange={(benefit) => set({ benefit })}
            hint={subject.benefit.hint}
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
          hint={subject?.anyMethod}
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
        hint={PLANS}
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
