/** Add or change a schedule: presets, interval or cron, what it means and its next five times. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { RuleFields } from "./rule-fields";
import { PRESETS, scheduleBody, scheduleDraft, timingOf, UNITS } from "./schedule-draft";
import { useSaving } from "./use-saving";

import { previewQuery, scheduleSave, type Schedule, type Timing } from "@/api/recomputation";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { ChoiceField, NumberField, TextField } from "@/components/ui/fields";
import { Segments } from "@/components/ui/page";
import { messageFor, problemOf, unclaimed } from "@/lib/problem";
import { exactTime } from "@/lib/time";

const DRAWN = [
  ...["name", "every_s", "cron", "timezone", "subject", "method", "least_benefit"],
  ...["time_limit_s", "then", "enabled", "take_over"],
];

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
  const queries = useQueryClient();
  const [draft, setDraft] = useState(() => scheduleDraft(row));
  const { errors, busy, save } = useSaving();
  const set = (change: Partial<typeof draft>) => setDraft({ ...draft, ...change });
  const submit = () =>
    save(scheduleBody(draft), async (body) => {
      await scheduleSave(system, row, body);
      await queries.invalidateQueries({ queryKey: keys.recomputation.all });
      onClose();
    });
  const others = unclaimed(errors, DRAWN);
  return (
    <Dialog title={row ? `Schedule ${row.name}` : "New schedule"} open onClose={onClose} wide>
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
        <RuleFields draft={draft} set={set} errors={errors} answerable={row?.answerable} />
        <div className="formfoot">
          <span className="r">
            <button type="button" className="btn" onClick={onClose}>
              Discard
            </button>
            <Command primary type="submit" disabled={busy}>
              Save schedule
            </Command>
          </span>
        </div>
      </form>
    </Dialog>
  );
}
