/** Of what somebody is told, and when: the fields that people and channels of chats share. */
import type { InboxItem } from "@/api/inbox";
import type { NotificationChanges } from "@/api/notifications";
import { ChoiceField, PickField, PickManyField, TextField } from "@/components/ui/fields";
import { below, messageFor, type FieldProblem } from "@/lib/problem";

export const ITEM_KINDS: Record<InboxItem["kind"], string> = {
  plan_to_review: "A plan waits for your review",
  plan_to_execute: "An approved plan waits to be executed",
  plan_rejected: "A plan of yours was rejected",
  plan_stale: "A plan of yours went stale",
  execution_stuck: "An execution needs a decision",
  execution_paused: "An execution was paused by hand",
  execution_held: "An execution waits for its window",
  execution_failed: "An execution failed",
  database_restored: "A restored database waits",
  agent_silent: "Agents are silent",
  messages_lost: "Messages were lost",
  backlog: "Waiting messages reach a limit",
  connection_failing: "A connection does not answer",
  changes_refused: "A connection refuses changes",
  webhook_failing: "A webhook's receiver takes nothing",
  channel_failing: "A chat channel did not take its messages",
  slo_burns_fast: "An SLO's budget burns fast",
  slo_burns: "An SLO's budget burns",
  budget_spent: "An SLO's budget is spent",
};

const AT_ONCE = "at once";
const DAILY = "daily";

/** The server says 08:00:00, the field 08:00. */
export const hourText = (time: string | null | undefined) => time?.slice(0, 5) ?? "";
const given = (time: string) => (time === "" ? null : time);

/** Every zone that the browser knows; one that it does not is typed by the API. */
const ZONES = Intl.supportedValuesOf("timeZone");
export const browserZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

export interface ChoiceDraft {
  kinds: string[];
  timezone: string;
  pace: typeof AT_ONCE | typeof DAILY;
  digestAt: string;
  quietFrom: string;
  quietUntil: string;
}

interface Choice {
  kinds: readonly InboxItem["kind"][];
  timezone: string;
  digest_at?: string | null;
  quiet_from?: string | null;
  quiet_until?: string | null;
}

/** What the server names these fields in its problems. */
export const CHOICE_FIELDS = ["kinds", "timezone", "digest_at", "quiet_from", "quiet_until"];

export const choiceDraft = (row: Choice): ChoiceDraft => ({
  kinds: [...row.kinds],
  timezone: row.timezone,
  pace: row.digest_at ? DAILY : AT_ONCE,
  digestAt: hourText(row.digest_at) || "08:00",
  quietFrom: hourText(row.quiet_from),
  quietUntil: hourText(row.quiet_until),
});

export const choiceBody = (
  draft: ChoiceDraft,
): Required<Omit<NotificationChanges, "by_email">> => ({
  kinds: draft.kinds as InboxItem["kind"][],
  timezone: draft.timezone,
  digest_at: draft.pace === DAILY ? draft.digestAt : null,
  quiet_from: given(draft.quietFrom),
  quiet_until: given(draft.quietUntil),
});

export function ChoiceFields({
  draft,
  onChange,
  errors,
  words = ITEM_KINDS,
  kindsHint,
  zoneHint,
}: {
  draft: ChoiceDraft;
  onChange: (draft: ChoiceDraft) => void;
  errors: readonly FieldProblem[];
  /** What the kinds are called; nothing is "yours" to a channel. */
  words?: Record<InboxItem["kind"], string>;
  kindsHint?: string;
  zoneHint?: string;
}) {
  const set = (change: Partial<ChoiceDraft>) => onChange({ ...draft, ...change });
  return (
    <>
      <PickManyField
        label="Of what"
        hint={kindsHint}
        options={Object.entries(words).map(([value, label]) => ({ value, label }))}
        value={draft.kinds}
        onChange={(kinds) => set({ kinds })}
        error={below(errors, "kinds")[0]?.message}
      />
      <div className="grid2">
        <ChoiceField
          label="How often"
          options={[
            { value: AT_ONCE, label: "At once" },
            { value: DAILY, label: "Once a day, all in one" },
          ]}
          value={draft.pace}
          onChange={(pace) => set({ pace: pace as ChoiceDraft["pace"] })}
        />
        {draft.pace === DAILY ? (
          <TextField
            label="Time of day"
            type="time"
            value={draft.digestAt}
            onChange={(digestAt) => set({ digestAt })}
            error={messageFor(errors, "digest_at")}
          />
        ) : null}
      </div>
      <div className="grid2">
        <TextField
          label="Quiet from"
          hint="Nothing is sent until they are over, then all of it."
          required={false}
          type="time"
          value={draft.quietFrom}
          onChange={(quietFrom) => set({ quietFrom })}
          error={messageFor(errors, "quiet_from")}
        />
        <TextField
          label="Quiet until"
          required={false}
          type="time"
          value={draft.quietUntil}
          onChange={(quietUntil) => set({ quietUntil })}
          error={messageFor(errors, "quiet_until")}
        />
      </div>
      <PickField
        label="Time zone"
        hint={zoneHint}
        options={[...new Set([draft.timezone, ...ZONES])].map((one) => ({
          value: one,
          label: one,
        }))}
        value={draft.timezone}
        onChange={(timezone) => set({ timezone })}
        error={messageFor(errors, "timezone")}
      />
    </>
  );
}
