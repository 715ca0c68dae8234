/** When an execution may begin: times that come again, by cron. Deny beats allow. */
import { DraftRows } from "./draft-rows";
import type { PartProps } from "./policy-rules";

import { ChoiceField, NumberField, TextField } from "@/components/ui/fields";

const EFFECTS = [
  { value: "allow", label: "Allow" },
  { value: "deny", label: "Deny" },
];

const FRESH = {
  effect: "allow",
  cron: "0 22 * * 1-5",
  minutes: "120",
  timezone: "UTC",
  note: "",
};

export function WindowsPanel({ draft, set, errors, may }: PartProps) {
  return (
    <DraftRows
      title="Maintenance windows"
      sub="deny beats allow; without an allow window every other time is open"
      noun="window"
      field="windows"
      rows={draft.windows}
      onRows={(windows) => set({ windows })}
      fresh={FRESH}
      empty="Plans may be executed at any time."
      errors={errors}
      may={may}
    >
      {({ row, change, wrong }) => (
        <>
          <ChoiceField
            label="Effect"
            options={EFFECTS}
            disabled={!may}
            value={row.effect}
            onChange={(effect) => change({ effect })}
            error={wrong("effect")}
          />
          <TextField
            label="Begins (cron)"
            placeholder="minute hour day month weekday"
            disabled={!may}
            value={row.cron}
            onChange={(cron) => change({ cron })}
            error={wrong("cron")}
          />
          <NumberField
            label="Lasts"
            unit="min"
            disabled={!may}
            value={row.minutes}
            onChange={(minutes) => change({ minutes })}
            error={wrong("duration_s")}
          />
          <TextField
            label="Time zone"
            disabled={!may}
            value={row.timezone}
            onChange={(timezone) => change({ timezone })}
            error={wrong("timezone")}
          />
          <TextField
            label="Note"
            required={false}
            disabled={!may}
            value={row.note}
            onChange={(note) => change({ note })}
            error={wrong("note")}
          />
        </>
      )}
    </DraftRows>
  );
}
