/** Ask for a new allocation: method, its parameters, seed, time limit. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { optimize, optimizersQuery, type Optimizer } from "@/api/allocations";
import { keys } from "@/api/query-keys";
import type { System } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { CheckField, ChoiceField, NumberField } from "@/components/ui/fields";
import { MethodParameters } from "@/components/ui/parameter-fields";
import { QueryBody } from "@/components/ui/panel";
import { to } from "@/lib/kinds";
import { fixed } from "@/lib/numbers";
import { parameterDraft, readNumber, readParameters, type ParameterDraft } from "@/lib/parameters";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

const DRAWN = ["method", "seed", "time_limit_s", "parameters"];

export function OptimizeDialog({
  system,
  open,
  onClose,
}: {
  system: System;
  open: boolean;
  onClose: () => void;
}) {
  const optimizers = useQuery(optimizersQuery);
  return (
    <Dialog
      title={`Optimize ${system.name}`}
      open={open && !optimizers.isPending}
      onClose={onClose}
      wide
    >
      <QueryBody query={optimizers} what="Optimizers" rows={4}>
        {({ results }) => <OptimizeForm system={system} methods={results} onClose={onClose} />}
      </QueryBody>
    </Dialog>
  );
}

function OptimizeForm({
  system,
  methods,
  onClose,
}: {
  system: System;
  methods: readonly Optimizer[];
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const usual = methods.find((entry) => entry.is_default) ?? methods[0];
  const [name, setName] = useState(usual?.name ?? "");
  const [drafts, setDrafts] = useState<Record<string, ParameterDraft>>({});
  const [seed, setSeed] = useState("0");
  const [limit, setLimit] = useState("");
  const { errors, setErrors, busy, send, others } = useSubmission(DRAWN);
  const [cold, setCold] = useState(false);
  const method = methods.find((entry) => entry.name === name);
  const described = method?.parameters ?? [];
  const draft = drafts[name] ?? parameterDraft(described);

  const start = async () => {
    const parameters = readParameters(described, draft);
    const found = [...parameters.errors];
    const seedNumber = readNumber(seed) ?? 0;
    const limitNumber = readNumber(limit);
    if (!Number.isInteger(seedNumber) || seedNumber < 0) {
      found.push({ field: "seed", message: "Give a whole number, 0 or more." });
    }
    if (Number.isNaN(limitNumber)) {
      found.push({ field: "time_limit_s", message: "Give a number of seconds." });
    }
    setErrors(found);
    if (found.length > 0) return;
    await send(async () => {
      const run = await optimize(
        {
          system: system.id,
          method: name,
          parameters: parameters.values,
          seed: seedNumber,
          time_limit_s: limitNumber,
          cold,
        },
        crypto.randomUUID(),
      );
      await queries.invalidateQueries({ queryKey: keys.runs.all });
      await navigate(to.run(run.id));
    });
  };
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
        Freezes model v{fixed(system.model_version)} of {system.name} and starts a run on it. The
        result is a proposal; nothing in the system changes.
      </p>
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      <ChoiceField
        label="Method"
        hint={method?.summary}
        options={methods.map((entry) => ({ value: entry.name, label: entry.title }))}
        value={name}
        onChange={setName}
        error={messageFor(errors, "method")}
      />
      <div className="grid2">
        <NumberField
          label="Seed"
          hint="The same seed on the same snapshot gives the same answer."
          value={seed}
          onChange={setSeed}
          error={messageFor(errors, "seed")}
        />
        <NumberField
          label="Time limit"
          unit="s"
          required={false}
          hint="The best answer so far is kept when it passes."
          value={limit}
          onChange={setLimit}
          error={messageFor(errors, "time_limit_s")}
        />
      </div>
      <CheckField
        label="Begin cold"
        hint="Left off, it begins at the prices of the system's last allocation and saves iterations."
        value={cold}
        onChange={setCold}
      />
      <MethodParameters
        method={method}
        draft={draft}
        onChange={(next) => setDrafts({ ...drafts, [name]: next })}
        errors={errors}
      />
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Close
          </button>
          <Command primary icon="play" type="submit" disabled={busy} focus>
            Start run
          </Command>
        </span>
      </div>
    </form>
  );
}
