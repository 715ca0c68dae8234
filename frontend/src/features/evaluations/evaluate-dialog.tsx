/** Ask for a better overlay: which goals, how plans may look, how long what is saved counts. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { evaluationsAt } from "./addresses";
import { evaluateBody, evaluateDraft, UNITS, type EvaluateDraft } from "./evaluate-draft";
import { EvaluateOptions } from "./evaluate-options";
import { ToolChecks } from "./tool-checks";

import { catalogAll, type CatalogTypes } from "@/api/catalog";
import { evaluate, methodsQuery, plannersQuery, type TopologyTool } from "@/api/evaluations";
import { keys } from "@/api/query-keys";
import type { System } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { ChoiceField, NumberField, PickManyField } from "@/components/ui/fields";
import { Segments } from "@/components/ui/page";
import { Failure, Loading } from "@/components/ui/panel";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

const DRAWN = [
  ...["methods", "goals", "objective", "planners", "seeds", "horizon_s", "window_s"],
  ...["time_limit_s", "note", "options.max_degree", "options.parallel", "options.frozen"],
  ...["options.action_costs", "options.move_goal_links"],
  ...["weights.per_message", "weights.per_second", "weights.per_overload"],
];

export function EvaluateDialog({
  system,
  open,
  onClose,
}: {
  system: System;
  open: boolean;
  onClose: () => void;
}) {
  const scope = { system: system.id };
  const methods = useQuery({ ...methodsQuery, enabled: open });
  const planners = useQuery({ ...plannersQuery, enabled: open });
  const brokers = useQuery({
    queryKey: keys.catalog.whole("brokers", scope),
    queryFn: ({ signal }) => catalogAll("brokers", scope, signal),
    enabled: open,
  });
  const overlays = useQuery({
    queryKey: keys.catalog.whole("overlays", scope),
    queryFn: ({ signal }) => catalogAll("overlays", scope, signal),
    enabled: open,
  });
  const inForce = overlays.data?.find((overlay) => overlay.in_force);
  const broken = methods.error ?? planners.error;
  return (
    <Dialog title="Find a better overlay" open={open} onClose={onClose} wide>
      {broken ? (
        <Failure error={broken} what="The methods" retry={() => void methods.refetch()} />
      ) : methods.data === undefined || planners.data === undefined ? (
        <Loading rows={6} label="Loading the methods" />
      ) : (
        <EvaluateForm
          system={system}
          methods={methods.data.results}
          planners={planners.data.results}
          brokers={brokers.data ?? []}
          overlays={(overlays.data ?? []).filter((overlay) => overlay !== inForce)}
          tree={(inForce?.edges ?? []).map(({ a_name: a, b_name: b }) => ({ a, b }))}
          onClose={onClose}
        />
      )}
    </Dialog>
  );
}

function EvaluateForm({
  system,
  methods,
  planners,
  brokers,
  overlays,
  tree,
  onClose,
}: {
  system: System;
  methods: readonly TopologyTool[];
  planners: readonly TopologyTool[];
  brokers: readonly CatalogTypes["brokers"][];
  /** Trees that are stored and not in force. */
  overlays: readonly { id: string; name: string }[];
  /** Links of the overlay in force. */
  tree: readonly { a: string; b: string }[];
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const usual = planners.find((planner) => planner.is_default) ?? planners[0];
  const [draft, setDraft] = useState(() =>
    evaluateDraft(
      methods.map(({ name }) => name),
      usual?.name ?? "",
    ),
  );
  const { errors, setErrors, busy, send, others } = useSubmission(DRAWN);
  const [more, setMore] = useState(false);
  const set = (change: Partial<EvaluateDraft>) => setDraft({ ...draft, ...change });
  const start = async () => {
    const read = evaluateBody(draft, system.id);
    if ("errors" in read) {
      setErrors(read.errors);
      return;
    }
    await send(async () => {
      const made = await evaluate(read.body, crypto.randomUUID());
      await queries.invalidateQueries({ queryKey: keys.evaluations.all });
      await navigate(evaluationsAt.one(system.id, made.id));
    });
  };
  const message = (field: string) =>
    messageFor(errors, field) ?? errors.find((one) => one.field.startsWith(`${field}[`))?.message;
  const opened = more || errors.some(({ field }) => /^(options|weights)/.test(field));
  return (
    <form
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <p className="muted">
        Freezes the overlay in force and the traffic between the brokers of {system.name}, compares
        candidates and plans the way to each. Keeping today{"\u2019"}s tree is always one of them;
        nothing in the system changes.
      </p>
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      <ToolChecks
        legend="Goals designed by"
        tools={methods}
        chosen={draft.methods}
        onChange={(chosen) => set({ methods: chosen })}
        error={message("methods")}
      />
      {overlays.length > 0 || draft.goals.length > 0 ? (
        <PickManyField
          label="Stored goals"
          required={false}
          hint="Overlays of this system that are not in force."
          options={overlays.map(({ id, name }) => ({ value: id, label: name }))}
          value={draft.goals}
          onChange={(goals) => set({ goals })}
          error={message("goals")}
        />
      ) : null}
      <fieldset className="field">
        <legend className="lab">Plans have as few as possible</legend>
        <div>
          <Segments
            label="Objective"
            value={draft.objective}
            options={[
              { value: "actions", label: "Actions" },
              { value: "steps", label: "Steps" },
            ]}
            onChange={(objective) => set({ objective })}
          />
        </div>
        <small>
          Actions disturb subscribers; a step is what may run at the same time, so few steps are
          soon done.
        </small>
      </fieldset>
      <div className="grid2">
        <NumberField
          label="What is saved counts for"
          value={draft.horizon}
          onChange={(horizon) => set({ horizon })}
          hint="A change pays off where it saves more than the way to it costs."
          error={message("horizon_s")}
        />
        <ChoiceField
          label="Unit"
          required
          options={UNITS}
          value={draft.unit}
          onChange={(unit) => set({ unit })}
        />
        <NumberField
          label="Traffic is the mean of the last"
          unit="s"
          value={draft.window}
          onChange={(window) => set({ window })}
          hint="Agents keep half an hour; without measurements the model is taken."
          error={message("window_s")}
        />
        <NumberField
          label="Time limit"
          unit="s"
          value={draft.limit}
          onChange={(limit) => set({ limit })}
          hint="The best plans so far are kept when it passes."
          error={message("time_limit_s")}
        />
      </div>
      <span>
        <button
          type="button"
          className="link"
          aria-expanded={opened}
          onClick={() => setMore(!opened)}
        >
          {opened ? "Fewer options" : "Planners, limits, frozen parts and costs"}
        </button>
      </span>
      {opened ? (
        <EvaluateOptions
          planners={planners}
          brokers={brokers}
          tree={tree}
          draft={draft}
          set={set}
          message={message}
        />
      ) : null}
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Close
          </button>
          <Command primary icon="affiliate" type="submit" disabled={busy} focus>
            Evaluate
          </Command>
        </span>
      </div>
    </form>
  );
}
