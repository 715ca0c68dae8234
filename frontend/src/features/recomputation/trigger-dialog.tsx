/** Add or change a trigger: what it watches, from which value on, for how long, how often. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { RuleFields } from "./rule-fields";
import { benefitOf, limitOf } from "./schedule-draft";
import { useSaving } from "./use-saving";
import { TRIGGER_KINDS } from "./words";

import {
  triggerSave,
  type Subject,
  type Then,
  type Trigger,
  type TriggerBody,
  type TriggerKind,
} from "@/api/recomputation";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { ChoiceField, NumberField, parseNumber, TextField } from "@/components/ui/fields";
import { messageFor, unclaimed, type FieldProblem } from "@/lib/problem";

const DRAWN = [
  ...["name", "kind", "threshold", "for_s", "cooldown_s"],
  ...["subject", "method", "least_benefit", "time_limit_s", "then", "enabled", "take_over"],
];

type Draft = {
  name: string;
  kind: TriggerKind;
  threshold: string;
  lasts: string;
  cooldown: string;
  subject: Subject;
  method: string;
  benefit: string;
  limit: string;
  then: string;
  enabled: boolean;
  takeOver: boolean;
};

const isShare = (kind: TriggerKind) => TRIGGER_KINDS[kind].unit === "%";
const plain = (value: number) => String(Number(value.toPrecision(10)));

function draftOf(row: Trigger | null): Draft {
  const kind = row?.kind ?? "capacity_change";
  const threshold = row?.threshold ?? 0;
  return {
    name: row?.name ?? "",
    kind,
    threshold: plain(isShare(kind) ? threshold * 100 : threshold),
    lasts: plain(row?.for_s ?? 10),
    cooldown: plain(row?.cooldown_s ?? 300),
    subject: row?.subject ?? "allocation",
    method: row?.method ?? "",
    benefit: plain(row?.least_benefit ?? 0),
    limit:
      row?.time_limit_s === null || row?.time_limit_s === undefined ? "" : plain(row.time_limit_s),
    then: row?.then ?? "draft",
    enabled: row?.enabled ?? true,
    takeOver: false,
  };
}

type Body = TriggerBody & { kind: TriggerKind };

function bodyOf(draft: Draft): { body: Body } | { errors: FieldProblem[] } {
  const errors: FieldProblem[] = [];
  const number = (text: string, field: string) => {
    const value = parseNumber(text);
    if (value === null || value === undefined) {
      errors.push({ field, message: "A number is needed here." });
    }
    return value ?? 0;
  };
  const threshold = number(draft.threshold, "threshold");
  const limit = limitOf(draft.limit);
  const benefit = benefitOf(draft);
  const body: Body = {
    name: draft.name.trim(),
    kind: draft.kind,
    threshold: isShare(draft.kind) ? Number((threshold / 100).toPrecision(12)) : threshold,
    for_s: number(draft.lasts, "for_s"),
    cooldown_s: number(draft.cooldown, "cooldown_s"),
    subject: draft.subject,
    method: draft.method,
    ...("benefit" in benefit ? benefit.benefit : {}),
    time_limit_s: "limit" in limit ? limit.limit : null,
    then: draft.then as Then,
    enabled: draft.enabled,
    ...(draft.takeOver ? { take_over: true } : {}),
  };
  if ("errors" in limit) errors.push(...limit.errors);
  if ("errors" in benefit) errors.push(...benefit.errors);
  return errors.length > 0 ? { errors } : { body };
}

export function TriggerDialog({
  system,
  row,
  onClose,
}: {
  system: string;
  row: Trigger | null;
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState(() => draftOf(row));
  const { errors, busy, save } = useSaving();
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  const submit = () =>
    save(bodyOf(draft), async (body) => {
      await triggerSave(system, row, body);
      await queries.invalidateQueries({ queryKey: keys.recomputation.all });
      onClose();
    });
  const others = unclaimed(errors, DRAWN);
  const words = TRIGGER_KINDS[draft.kind];
  return (
    <Dialog title={row ? `Trigger ${row.name}` : "New trigger"} open onClose={onClose} wide>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {others.length > 0 ? (
          <Note tone="bad">{others.map((e) => e.message).join(" ")}</Note>
        ) : null}
        <TextField
          label="Name"
          required
          focus
          maxLength={100}
          value={draft.name}
          onChange={(name) => set({ name })}
          error={messageFor(errors, "name")}
        />
        <ChoiceField
          label="Watches"
          required
          options={Object.entries(TRIGGER_KINDS).map(([value, kind]) => ({
            value,
            label: kind.label,
          }))}
          value={draft.kind}
          onChange={(kind) => set({ kind: kind as TriggerKind })}
          hint={words.about}
          error={messageFor(errors, "kind")}
        />
        <div className="grid2">
          <NumberField
            label="Fires above"
            unit={words.unit}
            value={draft.threshold}
            onChange={(threshold) => set({ threshold })}
            hint="0: any."
            error={messageFor(errors, "threshold")}
          />
          <NumberField
            label="After lasting"
            unit="s"
            value={draft.lasts}
            onChange={(lasts) => set({ lasts })}
            hint="Each edit of the model starts the wait again."
            error={messageFor(errors, "for_s")}
          />
          <NumberField
            label="At most once in"
            unit="s"
            value={draft.cooldown}
            onChange={(cooldown) => set({ cooldown })}
            hint="The cool-down after it fired."
            error={messageFor(errors, "cooldown_s")}
          />
        </div>
        <RuleFields draft={draft} set={set} errors={errors} answerable={row?.answerable} />
        <div className="formfoot">
          <span className="r">
            <button type="button" className="btn" onClick={onClose}>
              Discard
            </button>
            <Command primary type="submit" disabled={busy}>
              Save trigger
            </Command>
          </span>
        </div>
      </form>
    </Dialog>
  );
}
