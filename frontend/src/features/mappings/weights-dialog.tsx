/** The weights of a system's maps: what receiving and moving costs, and what a change of it means. */
import { useState } from "react";

import {
  changesBetween,
  chargeText,
  filterText,
  readWeights,
  valuesOf,
  weightDraft,
  WEIGHTS,
  type WeightName,
} from "./weights";

import { useMappingSettings, useMappingSettingsUpdate, type MappingSettings } from "@/api/mappings";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { NumberField, TextField } from "@/components/ui/fields";
import { QueryBody } from "@/components/ui/panel";
import { tell } from "@/components/ui/toast";
import { messageFor, problemOf } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

const CONFLICT = 412;
const LONGEST_REASON = 500;

export function WeightsDialog({
  system,
  open,
  onClose,
}: {
  /** Its id. */
  system: string;
  open: boolean;
  onClose: () => void;
}) {
  return (
    <Dialog title="Weights" open={open} onClose={onClose} wide>
      <Weights system={system} onDone={onClose} done="Close" />
    </Dialog>
  );
}

/** The form alone, for a dialog that shows it beside others. */
export function Weights({
  system,
  onDone,
  done,
}: {
  system: string;
  onDone: () => void;
  /** The word on the button that leaves it. */
  done: string;
}) {
  const settings = useMappingSettings(system);
  return (
    <QueryBody query={settings} what="The weights" rows={6}>
      {(row) => <WeightsForm latest={row} again={settings.refetch} onDone={onDone} done={done} />}
    </QueryBody>
  );
}

function WeightsForm({
  latest,
  again,
  onDone,
  done,
}: {
  /** What is stored now; edits begin at what was stored when the form opened. */
  latest: MappingSettings;
  again: () => Promise<unknown>;
  onDone: () => void;
  done: string;
}) {
  const [base, setBase] = useState(latest);
  const [draft, setDraft] = useState(() => weightDraft(latest));
  const [reason, setReason] = useState("");
  const update = useMappingSettingsUpdate(base);
  const { errors, setErrors, busy, send, others } = useSubmission([
    ...WEIGHTS.map(({ name }) => name),
    "reason",
  ]);
  const may = latest.allowed_commands.includes("edit");
  const { values, errors: wrong } = readWeights(draft);
  const before = valuesOf(base);
  const changes = changesBetween(before, values);
  const isDirty = changes.length > 0 || wrong.length > 0;
  const movedOn = latest.version !== base.version;
  const start = (row: MappingSettings) => {
    setBase(row);
    setDraft(weightDraft(row));
  };
  if (movedOn && !isDirty) start(latest);

  /** What was changed here stays, on top of what somebody else has stored. */
  const keepMine = () => {
    // What is no number yet is an entry, too.
    const mine = WEIGHTS.filter(({ name }) => values[name] !== before[name]);
    start(latest);
    setDraft({
      ...weightDraft(latest),
      ...(Object.fromEntries(mine.map(({ name }) => [name, draft[name]])) as Partial<typeof draft>),
    });
  };

  const save = async () => {
    setErrors(wrong);
    if (wrong.length > 0 || changes.length === 0) return;
    await send(
      async () => {
        const changed = Object.fromEntries(changes.map(({ name }) => [name, values[name]]));
        start(await update.mutateAsync({ ...changed, ...(reason.trim() ? { reason } : {}) }));
        tell("Saved the weights", "The next mapping is computed with them.");
        onDone();
      },
      async (error) => {
        if (problemOf(error).status !== CONFLICT) return false;
        await again();
        return true;
      },
    );
  };
  const set = (name: WeightName, text: string) => setDraft({ ...draft, [name]: text });
  const shown = { ...before, ...values };
  return (
    <form
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      {movedOn && isDirty ? (
        <Note tone="warn">
          <b>Changed by someone else while you edited:</b>{" "}
          {changesBetween(before, valuesOf(latest))
            .map(({ label, text }) => `${label.toLowerCase()} ${text}`)
            .join(", ") || "nothing that counts here"}
          . Your entries are still here.{" "}
          <button type="button" className="link" onClick={() => start(latest)}>
            Take theirs
          </button>{" "}
          or{" "}
          <button type="button" className="link" onClick={keepMine}>
            keep mine beside theirs
          </button>
          .
        </Note>
      ) : null}
      <div className="grid2">
        {WEIGHTS.map(({ name, label, unit, hint }) => (
          <NumberField
            key={name}
            label={label}
            unit={unit}
            hint={hint}
            disabled={!may}
            value={draft[name]}
            onChange={(text) => set(name, text)}
            error={messageFor(errors, name)}
          />
        ))}
      </div>
      {wrong.length === 0 ? (
        <Note>
          {filterText(shown)} {chargeText(shown)}
        </Note>
      ) : null}
      {may ? (
        <TextField
          label="Reason"
          hint="Kept in the history."
          required={false}
          maxLength={LONGEST_REASON}
          value={reason}
          onChange={setReason}
          error={messageFor(errors, "reason")}
        />
      ) : (
        <p className="muted">Editors change the weights.</p>
      )}
      {changes.length > 0 ? (
        <div role="status" aria-label="What will change">
          <ul className="text">
            {changes.map(({ name, label, text }) => (
              <li key={name}>
                {label}: {text}
              </li>
            ))}
          </ul>
          <p className="muted">
            The next mapping is computed with it. Maps that stand, and what is in force, stay.
          </p>
        </div>
      ) : null}
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onDone}>
            {done}
          </button>
          {may ? (
            <Command
              primary
              icon="check"
              type="submit"
              disabled={busy || !isDirty || movedOn}
              reason={
                movedOn ? "Choose first what becomes of your entries." : "Nothing changed yet."
              }
            >
              Save
            </Command>
          ) : null}
        </span>
      </div>
    </form>
  );
}
