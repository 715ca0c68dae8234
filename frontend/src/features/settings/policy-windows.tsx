/** When an execution may begin: times that come again, by cron. Deny beats allow. */
import type { WindowDraft } from "./policy-draft";
import type { PartProps } from "./policy-rules";

import { ChoiceField, NumberField, TextField } from "@/components/ui/fields";
import { Icon } from "@/components/ui/icons";
import { Empty, Panel } from "@/components/ui/panel";
import { messageFor } from "@/lib/problem";

const EFFECTS = [
  { value: "allow", label: "Allow" },
  { value: "deny", label: "Deny" },
];

export function WindowsPanel({ draft, set, errors, may }: PartProps) {
  const change = (index: number, part: Partial<WindowDraft>) =>
    set({ windows: draft.windows.map((row, i) => (i === index ? { ...row, ...part } : row)) });
  return (
    <Panel
      title="Maintenance windows"
      sub="deny beats allow; without an allow window every other time is open"
      right={
        may ? (
          <button
            type="button"
            className="btn sm"
            onClick={() =>
              set({
                windows: [
                  ...draft.windows,
                  {
                    effect: "allow",
                    cron: "0 22 * * 1-5",
                    minutes: "120",
                    timezone: "UTC",
                    note: "",
                  },
                ],
              })
            }
          >
            <Icon name="plus" small />
            Add window
          </button>
        ) : null
      }
    >
      {draft.windows.length === 0 ? (
        <Empty>Plans may be executed at any time.</Empty>
      ) : (
        <div className="stack">
          {draft.windows.map((row, index) => {
            const at = `windows[${index}]`;
            return (
              <fieldset key={index} className="rulerow" aria-label={`Window ${index + 1}`}>
                <ChoiceField
                  label="Effect"
                  options={EFFECTS}
                  disabled={!may}
                  value={row.effect}
                  onChange={(effect) => change(index, { effect })}
                  error={messageFor(errors, `${at}.effect`)}
                />
                <TextField
                  label="Begins (cron)"
                  placeholder="minute hour day month weekday"
                  disabled={!may}
                  value={row.cron}
                  onChange={(cron) => change(index, { cron })}
                  error={messageFor(errors, `${at}.cron`)}
                />
                <NumberField
                  label="Lasts"
                  unit="min"
                  disabled={!may}
                  value={row.minutes}
                  onChange={(minutes) => change(index, { minutes })}
                  error={messageFor(errors, `${at}.duration_s`)}
                />
                <TextField
                  label="Time zone"
                  disabled={!may}
                  value={row.timezone}
                  onChange={(timezone) => change(index, { timezone })}
                  error={messageFor(errors, `${at}.timezone`)}
                />
                <TextField
                  label="Note"
                  required={false}
                  disabled={!may}
                  value={row.note}
                  onChange={(note) => change(index, { note })}
                  error={messageFor(errors, `${at}.note`)}
                />
                {may ? (
                  <button
                    type="button"
                    className="iconbtn"
                    aria-label={`Remove window ${index + 1}`}
                    onClick={() => set({ windows: draft.windows.filter((_, i) => i !== index) })}
                  >
                    <Icon name="trash" small />
                  </button>
                ) : null}
              </fieldset>
            );
          })}
        </div>
      )}
    </Panel>
  );
}
