/** How far measurements may correct the model of this system. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { calibrationSettingsUpdate, type CalibrationSettings } from "@/api/calibration";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { Note } from "@/components/ui/dialogs";
import { CheckField, NumberField, parseNumber, TextField } from "@/components/ui/fields";
import { Panel } from "@/components/ui/panel";
import { tell } from "@/components/ui/toast";
import { messageFor, type FieldProblem } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

type NumberName = "factor_min" | "factor_max" | "smoothing" | "cores" | "messages_per_transaction";

const NUMBERS: readonly { name: NumberName; label: string; unit: string; hint: string }[] = [
  { name: "factor_min", label: "Smallest factor", unit: "", hint: "Between 0 and 1." },
  { name: "factor_max", label: "Largest factor", unit: "", hint: "At least 1." },
  {
    name: "smoothing",
    label: "Weight of the newest ratio",
    unit: "",
    hint: "Small is calm, 1 is at once.",
  },
  {
    name: "cores",
    label: "Cores of a broker",
    unit: "cores",
    hint: "What its capacity means; empty: as reported.",
  },
  {
    name: "messages_per_transaction",
    label: "Messages per acknowledgement",
    unit: "msg",
    hint: "What a reliable producer sends before it waits.",
  },
];

type Draft = { correct_errors: boolean; bound_latency: boolean } & Record<NumberName, string>;

const draftOf = (row: CalibrationSettings): Draft => ({
  correct_errors: row.correct_errors ?? false,
  bound_latency: row.bound_latency ?? false,
  factor_min: String(row.factor_min ?? ""),
  factor_max: String(row.factor_max ?? ""),
  smoothing: String(row.smoothing ?? ""),
  cores: row.cores === null || row.cores === undefined ? "" : String(row.cores),
  messages_per_transaction: String(row.messages_per_transaction ?? ""),
});

export function SettingsForm({ row }: { row: CalibrationSettings }) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState<Draft>(() => draftOf(row));
  const [reason, setReason] = useState("");
  const { errors, setErrors, busy, send, others } = useSubmission([
    ...NUMBERS.map((entry) => entry.name),
    "reason",
  ]);
  const may = row.allowed_commands.includes("edit");
  const changed = JSON.stringify(draft) !== JSON.stringify(draftOf(row));
  const save = async () => {
    const found: FieldProblem[] = [];
    const numbers: Partial<Record<NumberName, number | null>> = {};
    for (const { name } of NUMBERS) {
      const value = parseNumber(draft[name]);
      if (value === undefined || (value === null && name !== "cores")) {
        found.push({ field: name, message: "Give a number." });
      } else numbers[name] = value;
    }
    setErrors(found);
    if (found.length > 0) return;
    await send(async () => {
      await calibrationSettingsUpdate(row.id, row.version, {
        correct_errors: draft.correct_errors,
        bound_latency: draft.bound_latency,
        ...(numbers as Record<Exclude<NumberName, "cores">, number>),
        reason,
      });
      await queries.invalidateQueries({ queryKey: keys.calibration.system(row.system) });
      tell("Saved how the model is corrected");
    });
  };
  return (
    <Panel title="What snapshots use">
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
        <CheckField
          label="Scale costs by the error correction"
          hint="Every change of a factor is kept in the audit."
          value={draft.correct_errors}
          onChange={(on) => (may ? setDraft({ ...draft, correct_errors: on }) : undefined)}
        />
        <CheckField
          label="Cap reliable topics at what producers can send"
          hint="A rate that cannot be used is not taken from others."
          value={draft.bound_latency}
          onChange={(on) => (may ? setDraft({ ...draft, bound_latency: on }) : undefined)}
        />
        <div className="form grid2">
          {NUMBERS.map(({ name, label, unit, hint }) => (
            <NumberField
              key={name}
              label={label}
              unit={unit}
              hint={hint}
              disabled={!may}
              value={draft[name]}
              onChange={(value) => setDraft({ ...draft, [name]: value })}
              error={messageFor(errors, name)}
            />
          ))}
        </div>
        {may ? (
          <>
            <TextField
              label="Reason"
              hint="Kept in the history."
              required={false}
              maxLength={500}
              value={reason}
              onChange={setReason}
              error={messageFor(errors, "reason")}
            />
            <div className="formfoot">
              <span className="r">
                <Command
                  primary
                  type="submit"
                  disabled={busy || !changed}
                  reason="Nothing changed yet."
                >
                  Save
                </Command>
              </span>
            </div>
          </>
        ) : (
          <p className="muted">Editors change this.</p>
        )}
      </form>
    </Panel>
  );
}
