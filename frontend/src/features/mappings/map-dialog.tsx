/** Ask for a map of a system's flows: what will be mapped, by which weights, and how. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { CannotMap, mappableText } from "./mappable";
import { chargeText, valuesOf, weightsText } from "./weights";
import { Weights } from "./weights-dialog";

import {
  askMapping,
  useMappable,
  useMappingMethods,
  useMappingSettings,
  type Mappable,
  type MappingMethod,
} from "@/api/mappings";
import { keys } from "@/api/query-keys";
import type { System } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { ChoiceField, NumberField, TextField } from "@/components/ui/fields";
import { QueryBody } from "@/components/ui/panel";
import { MethodParameters } from "@/components/ui/parameter-fields";
import { to } from "@/lib/kinds";
import { parameterDraft, readNumber, readParameters, type ParameterDraft } from "@/lib/parameters";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

const DRAWN = ["method", "seed", "time_limit_s", "note", "parameters"];
const LONGEST_NOTE = 2000;
const LARGEST_SEED = 2 ** 31 - 1;
const SHORTEST_S = 0.1;
const LONGEST_S = 3600;

export function MapDialog({
  system,
  open,
  onClose,
}: {
  system: System;
  open: boolean;
  onClose: () => void;
}) {
  const [weighing, setWeighing] = useState(false);
  const methods = useMappingMethods(open);
  const close = () => {
    setWeighing(false);
    onClose();
  };
  return (
    <Dialog
      title={weighing ? "Weights of the next mapping" : "Map flows"}
      open={open}
      onClose={close}
      wide
    >
      {weighing ? (
        <Weights system={system.id} onDone={() => setWeighing(false)} done="Back" />
      ) : null}
      {/* Away, not gone: what is typed stays while the weights are changed. */}
      <div hidden={weighing}>
        <QueryBody query={methods} what="The methods" rows={6}>
          {({ results }) => (
            <MapForm
              system={system.id}
              methods={results}
              onWeigh={() => setWeighing(true)}
              onClose={close}
            />
          )}
        </QueryBody>
      </div>
    </Dialog>
  );
}

/** What is mapped and what counts, before it is asked for. */
function Outlook({
  system,
  mappable,
  onWeigh,
}: {
  system: string;
  mappable: Mappable | undefined;
  onWeigh: () => void;
}) {
  const settings = useMappingSettings(system).data;
  const values = settings && valuesOf(settings);
  return (
    <div className="text">
      {mappable ? <p>{mappableText(mappable)}</p> : null}
      {values ? (
        <p>
          Weights: {weightsText(values)}. {chargeText(values)}{" "}
          <button type="button" className="link" onClick={onWeigh}>
            {settings.allowed_commands.includes("edit") ? "Change the weights" : "See the weights"}
          </button>
        </p>
      ) : null}
    </div>
  );
}

/** A number that may be left out; what is wrong with it as a sentence. */
function numberFault(text: string, least: number, most: number, whole: boolean): string | null {
  const value = readNumber(text);
  if (value === null) return null;
  const fits = value >= least && value <= most && (!whole || Number.isInteger(value));
  if (fits) return null;
  return whole
    ? "Give a whole number, 0 or more, below 2,147,483,648."
    : "Give 0.1 to 3,600 s, or nothing: no limit.";
}

function MapForm({
  system,
  methods,
  onWeigh,
  onClose,
}: {
  system: string;
  methods: readonly MappingMethod[];
  onWeigh: () => void;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const mappable = useMappable(system).data;
  const usual = methods.find((entry) => entry.is_default) ?? methods[0];
  const [name, setName] = useState(usual?.name ?? "");
  const [drafts, setDrafts] = useState<Record<string, ParameterDraft>>({});
  const [seed, setSeed] = useState("0");
  const [limit, setLimit] = useState("");
  const [note, setNote] = useState("");
  const { errors, setErrors, busy, send, others } = useSubmission(DRAWN);
  const method = methods.find((entry) => entry.name === name);
  const described = method?.parameters ?? [];
  const draft = drafts[name] ?? parameterDraft(described);
  const cannot = mappable !== undefined && mappable.because !== "";

  const start = async () => {
    const parameters = readParameters(described, draft);
    const faults = {
      seed: numberFault(seed, 0, LARGEST_SEED, true),
      time_limit_s: numberFault(limit, SHORTEST_S, LONGEST_S, false),
    };
    const wrong = [
      ...parameters.errors,
      ...Object.entries(faults).flatMap(([field, message]) =>
        message === null ? [] : [{ field, message }],
      ),
    ];
    setErrors(wrong);
    if (wrong.length > 0) return;
    await send(async () => {
      const run = await askMapping({
        system,
        method: name,
        parameters: parameters.values,
        seed: readNumber(seed) ?? 0,
        time_limit_s: readNumber(limit),
        note: note.trim(),
      });
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
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      {mappable ? <CannotMap system={system} mappable={mappable} /> : null}
      <Outlook system={system} mappable={mappable} onWeigh={onWeigh} />
      <ChoiceField
        label="Method"
        hint={method?.summary}
        options={methods.map((entry) => ({ value: entry.name, label: entry.title }))}
        value={name}
        onChange={setName}
        error={messageFor(errors, "method")}
      />
      <MethodParameters
        method={method}
        draft={draft}
        onChange={(next) => setDrafts({ ...drafts, [name]: next })}
        errors={errors}
      />
      <div className="grid2">
        <NumberField
          label="Seed"
          hint="The same seed on the same snapshot gives the same map."
          value={seed}
          onChange={setSeed}
          error={messageFor(errors, "seed")}
        />
        <NumberField
          label="Time limit"
          unit="s"
          required={false}
          hint="After it the best map so far is the answer."
          value={limit}
          onChange={setLimit}
          error={messageFor(errors, "time_limit_s")}
        />
      </div>
      <TextField
        label="Note"
        required={false}
        hint="Kept with the mapping."
        value={note}
        onChange={setNote}
        maxLength={LONGEST_NOTE}
        error={messageFor(errors, "note")}
      />
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Close
          </button>
          <Command
            primary
            icon="play"
            type="submit"
            disabled={busy || cannot}
            reason={cannot ? mappable.because : undefined}
            focus
          >
            Start run
          </Command>
        </span>
      </div>
    </form>
  );
}
