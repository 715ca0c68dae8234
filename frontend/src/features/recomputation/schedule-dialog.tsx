/** Add or change a schedule: presets, interval or cron, what it means and its next five times. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { RuleDialog } from "./rule-dialog";
import { PRESETS, scheduleBody, scheduleDraft, timingOf, UNITS } from "./schedule-draft";

import { previewQuery, scheduleSave, type Schedule, type Timing } from "@/api/recomputation";
import { Note } from "@/components/ui/dialogs";
import { ChoiceField, NumberField, TextField } from "@/components/ui/fields";
import { Segments } from "@/components/ui/page";
import { messageFor, problemOf } from "@/lib/problem";
import { exactTime } from "@/lib/time";

function NextTimes({ timing }: { timing: Timing | null }) {
  const preview = useQuery({
    ...previewQuery(timing ?? { every_s: null, cron: "", timezone: "UTC" }),
    enabled: timing !== null,
  });
  if (timing === null) return <p className="muted">Say when, and its next times are shown here.</p>;
  if (preview.error) return <Note tone="warn">{problemOf(preview.error).detail}</Note>;
  if (preview.data === undefined) return <p className="muted">Reading it{"\u2026"}</p>;
  return (
    <div aria-live="polite">
      <p>
        <b>{preview.data.text}</b>
      </p>
      <ol className="muted" aria-label="Next times">
        {preview.data.next.map((time) => (
          <li key={time}>{exactTime(time)}</li>
        ))}
      </ol>
    </div>
  );
}

export function ScheduleDialog({
  system,
  row,
  onClose,
}: {
  system: string;
  row: Schedule | null;
  onClose: () => void;
}) {
  const [draft, setDraft] = useState(() => scheduleDraft(row));
  const set = (change: Partial<typeof draft>) => setDraft({ ...draft, ...change });
  return (
    <RuleDialog
      noun="schedule"
      row={row}
      drawn={["every_s", "cron", "timezone"]}
      draft={draft}
      set={set}
      made={() => scheduleBody(draft)}
      save={(body) => scheduleSave(system, row, body)}
      onClose={onClose}
    >
      {(errors) => (
        <>
          <div className="row" role="group" aria-label="Presets">
            {PRESETS.map((preset) => (
              <button
                key={preset.label}
                type="button"
                className="btn sm"
                onClick={() => set(preset.set)}
              >
                {preset.label}
              </button>
            ))}
          </div>
          <Segments
            label="Clock"
            value={draft.clock}
            options={[
              { value: "interval", label: "Interval" },
              { value: "cron", label: "Cron" },
            ]}
            onChange={(clock) => set({ clock })}
          />
          {draft.clock === "interval" ? (
            <div className="grid2">
              <NumberField
                label="Every"
                value={draft.count}
                onChange={(count) => set({ count })}
                error={messageFor(errors, "every_s")}
              />
              <ChoiceField
                label="Unit"
                required
                options={UNITS}
                value={draft.unit}
                onChange={(unit) => set({ unit })}
              />
            </div>
          ) : (
            <div className="grid2">
              <TextField
                label="Cron"
                placeholder="minute hour day month weekday"
                value={draft.cron}
                onChange={(cron) => set({ cron })}
                hint="0 2 * * 1-5 is 02:00 on working days."
                error={messageFor(errors, "cron")}
              />
              <TextField
                label="Time zone"
                value={draft.timezone}
                onChange={(timezone) => set({ timezone })}
                hint="Of the cron expression; all times are shown in UTC."
                error={messageFor(errors, "timezone")}
              />
            </div>
          )}
          <NextTimes timing={timingOf(draft)} />
        </>
      )}
    </RuleDialog>
  );
}
