/** What one is told by e-mail of the inbox, and when. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { browserZone, CHOICE_FIELDS, choiceBody, choiceDraft, ChoiceFields } from "./choice-fields";

import {
  notificationsQuery,
  notificationsUpdate,
  type NotificationSettings,
} from "@/api/notifications";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { Note } from "@/components/ui/dialogs";
import { CheckField } from "@/components/ui/fields";
import { Panel, QueryBody } from "@/components/ui/panel";
import { tell } from "@/components/ui/toast";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";
import { ageText, exactTime } from "@/lib/time";

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
  const [draft, setDraft] = useState(() => ({
    ...choiceDraft(row),
    // Nobody has chosen yet: the zone that this browser is in is the likely one.
    ...(row.version === 0 ? { timezone: browserZone() } : {}),
  }));
  // What is not drawn is not sent, so that no error is without its field.
  const { errors, busy, send, others } = useSubmission(["by_email", ...(on ? CHOICE_FIELDS : [])]);
  const save = () =>
    send(async () => {
      await notificationsUpdate(row.version, {
        by_email: on,
        // The first saving keeps the zone also where nothing else is chosen.
        timezone: draft.timezone,
        ...(on ? choiceBody(draft) : {}),
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
        <ChoiceFields
          draft={draft}
          onChange={setDraft}
          errors={errors}
          zoneHint={row.version === 0 ? `Times are ${row.timezone} until you save.` : undefined}
        />
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
