/** One's own password; whoever is signed in has this page. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { keys } from "@/api/query-keys";
import { passwordChange } from "@/api/session";
import { Command } from "@/components/ui/command";
import { Note } from "@/components/ui/dialogs";
import { TextField } from "@/components/ui/fields";
import { Panel } from "@/components/ui/panel";
import { tell } from "@/components/ui/toast";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

const FIELDS = ["current", "password"];

export function PasswordPanel() {
  const queries = useQueryClient();
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  const { errors, busy, send, others } = useSubmission(FIELDS);
  const differs = again !== "" && again !== password;
  const save = () =>
    send(async () => {
      await passwordChange(current, password);
      setCurrent("");
      setPassword("");
      setAgain("");
      tell("Changed your password");
      await queries.invalidateQueries({ queryKey: keys.tokens.all });
    });
  return (
    <Panel title="Your password">
      <form
        className="form"
        noValidate
        style={{ maxWidth: 480, paddingTop: 4 }}
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {others.length > 0 ? (
          <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
        ) : null}
        <TextField
          label="Password now"
          type="password"
          autoComplete="current-password"
          value={current}
          onChange={setCurrent}
          error={messageFor(errors, "current")}
          maxLength={200}
        />
        <TextField
          label="New password"
          type="password"
          autoComplete="new-password"
          value={password}
          onChange={setPassword}
          error={messageFor(errors, "password")}
          maxLength={200}
        />
        <TextField
          label="New password again"
          type="password"
          autoComplete="new-password"
          value={again}
          onChange={setAgain}
          error={differs ? "This is not the new password." : undefined}
          maxLength={200}
        />
        <Note>
          You stay signed in here. Your other sessions and all of your tokens end at once: machines
          that use them need new ones.
        </Note>
        <div className="formfoot">
          <span className="r">
            <Command
              primary
              type="submit"
              disabled={busy || !current || !password || again !== password}
              reason="Fill in all three fields."
            >
              Change password
            </Command>
          </span>
        </div>
      </form>
    </Panel>
  );
}
