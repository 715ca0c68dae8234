/** Add or change a trigger: what it watches, from which value on, for how long, how often. */
import { useState } from "react";

import { RuleDialog } from "./rule-dialog";
import { numberIn, plain, ruleBody, ruleDraft, type RuleDraft } from "./rule-draft";
import { TRIGGER_KINDS } from "./words";

import { triggerSave, type Trigger, type TriggerBody, type TriggerKind } from "@/api/recomputation";
import { ChoiceField, NumberField } from "@/components/ui/fields";
import { messageFor, type FieldProblem } from "@/lib/problem";

type Draft = RuleDraft & {
  kind: TriggerKind;
  threshold: string;
  lasts: string;
  cooldown: string;
};

const isShare = (kind: TriggerKind) => TRIGGER_KINDS[kind].unit === "%";

function draftOf(row: Trigger | null): Draft {
  const kind = row?.kind ?? "capacity_change";
  const threshold = row?.threshold ?? 0;
  return {
    ...ruleDraft(row),
    kind,
    threshold: plain(isShare(kind) ? threshold * 100 : threshold),
    lasts: plain(row?.for_s ?? 10),
    cooldown: plain(row?.cooldown_s ?? 300),
  };
}

type Body = TriggerBody & { kind: TriggerKind };

function bodyOf(draft: Draft): { body: Body } | { errors: FieldProblem[] } {
  const errors: FieldProblem[] = [];
  const threshold = numberIn(errors, draft.threshold, "threshold");
  const body: Body = {
    kind: draft.kind,
    threshold: isShare(draft.kind) ? Number((threshold / 100).toPrecision(12)) : threshold,
    for_s: numberIn(errors, draft.lasts, "for_s"),
    cooldown_s: numberIn(errors, draft.cooldown, "cooldown_s"),
    ...ruleBody(draft, errors),
  };
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
  const [draft, setDraft] = useState(() => draftOf(row));
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  const words = TRIGGER_KINDS[draft.kind];
  return (
    <RuleDialog
      noun="trigger"
      row={row}
      drawn={["kind", "threshold", "for_s", "cooldown_s"]}
      draft={draft}
      set={set}
      made={() => bodyOf(draft)}
      save={(body) => triggerSave(system, row, body)}
      onClose={onClose}
    >
      {(errors) => (
        <>
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
        </>
      )}
    </RuleDialog>
  );
}
