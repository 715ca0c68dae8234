/** What one is told by e-mail of the inbox, and when. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { InboxItem } from "@/api/inbox";
import {
  notificationsQuery,
  notificationsUpdate,
  type NotificationSettings,
} from "@/api/notifications";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { Note } from "@/components/ui/dialogs";
import {
  CheckField,
  ChoiceField,
  PickField,
  PickManyField,
  TextField,
} from "@/components/ui/fields";
import { Panel, QueryBody } from "@/components/ui/panel";
import { tell } from "@/components/ui/toast";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";
import { ageText, exactTime } from "@/lib/time";

const KINDS: Record<InboxItem["kind"], string> = {
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
};

const AT_ONCE = "at once";
const DAILY = "daily";

/** The server says 08:00:00, the field 08:00. */
const clock = (time: string | null) => time?.slice(0, 5) ?? "";
const given = (time: string) => (time === "" ? null : time);

/** Every zone that the browser knows; one that it does not is typed by the API. */
const ZONES = Intl.supportedValuesOf("timeZone");
const here = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

export function NotificationsPanel() {
  const settings = useQuery(notificationsQuery);
  return (
    <Panel title="Notifications by e-mail">
      <QueryBody query={settings} what="Notifications">
        {(row) => <NotificationsForm key={row.version} row={row} />}
      </QueryBody>
    </Panel>
  );
}

function where(row: NotificationSettings): React.ReactNode {
  if (!row.email_works) {
    return "This installation has no mail server, so nothing is sent. Whoever runs it sets one up (WEIR_SMTP_URL).";
  }
  if (row.email === "") {
    return "Your account has no e-mail address, so nothing is sent. An administrator adds it on People.";
  }
  if (row.problem !== "") return `The mail server did not take the last message: ${row.problem}`;
  return null;
}

function NotificationsForm({ row }: { row: NotificationSettings }) {
  const queries = useQueryClient();
  const [on, setOn] = useState(row.by_email);
  const [kinds, setKinds] = useState<string[]>([...row.kinds]);
  // Nobody has chosen yet: the zone that this browser is in is the likely one.
  const [zone, setZone] = useState(row.version === 0 ? here() : row.timezone);
  const [pace, setPace] = useState(row.digest_at === null ? AT_ONCE : DAILY);
  const [digest, setDigest] = useState(clock(row.digest_at) || "08:00");
  const [from, setFrom] = useState(clock(row.quiet_from));
  const [until, setUntil] = useState(clock(row.quiet_until));
  // What is not drawn is not sent, so that no error is without its field.
  const drawn = on ? ["kinds", "timezone", "digest_at", "quiet_from", "quiet_until"] : [];
  const { errors, busy, send, others } = useSubmission(["by_email", ...drawn]);
  const save = () =>
    send(async () => {
      const choice = {
        kinds: kinds as InboxItem["kind"][],
        digest_at: pace === DAILY ? digest : null,
        quiet_from: given(from),
        quiet_until: given(until),
      };
      await notificationsUpdate(row.version, {
        by_email: on,
        timezone: zone,
        ...(on ? choice : {}),
      });
      tell("Saved what you are told");
      await queries.invalidateQueries({ queryKey: keys.notifications });
    });
  const missing = where(row);
  return (
    <form
      className="form"
      noValidate
      style={{ maxWidth: 640, paddingTop: 4 }}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {missing === null ? (
        <Note>
          To {row.email}.{" "}
          {row.last_sent_at === null ? (
            "Nothing has been sent yet."
          ) : (
            <span title={exactTime(row.last_sent_at)}>
              The last message was sent {ageText(row.last_sent_at)} ago.
            </span>
          )}
        </Note>
      ) : (
        <Note tone="warn">{missing}</Note>
      )}
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      <CheckField
        label="Write to me"
        hint="Of what your roles are called to; it is in the inbox in any case."
        value={on}
        onChange={setOn}
        error={messageFor(errors, "by_email")}
      />
      {on ? (
        <>
          <PickManyField
            label="Of what"
            options={Object.entries(KINDS).map(([value, label]) => ({ value, label }))}
            value={kinds}
            onChange={setKinds}
            error={messageFor(errors, "kinds")}
          />
          <div className="grid2">
            <ChoiceField
              label="How often"
              options={[
                { value: AT_ONCE, label: "At once" },
                { value: DAILY, label: "Once a day, all in one" },
              ]}
              value={pace}
              onChange={setPace}
            />
            {pace === DAILY ? (
              <TextField
                label="Time of day"
                type="time"
                value={digest}
                onChange={setDigest}
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
              value={from}
              onChange={setFrom}
              error={messageFor(errors, "quiet_from")}
            />
            <TextField
              label="Quiet until"
              required={false}
              type="time"
              value={until}
              onChange={setUntil}
              error={messageFor(errors, "quiet_until")}
            />
          </div>
          <PickField
            label="Time zone"
            hint={row.version === 0 ? `Times are ${row.timezone} until you save.` : undefined}
            options={[...new Set([zone, ...ZONES])].map((one) => ({ value: one, label: one }))}
            value={zone}
            onChange={setZone}
            error={messageFor(errors, "timezone")}
          />
        </>
      ) : null}
      <div className="formfoot">
        <span className="r">
          <Command primary type="submit" disabled={busy}>
            Save notifications
          </Command>
        </span>
      </div>
    </form>
  );
}
