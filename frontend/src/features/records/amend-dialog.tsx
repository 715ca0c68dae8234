/** One row that was set aside, in other words than it was sent: it counts if it fits then. */
import { useState } from "react";

import { setAsideReplay, type SetAside } from "@/api/records";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { TextArea, TextField } from "@/components/ui/fields";
import { tell } from "@/components/ui/toast";
import { fixed } from "@/lib/numbers";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

const GONE = "it is no longer kept";
const CONTENT = "amended[0].content";

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

export function AmendDialog({
  system,
  row,
  onClose,
  onDone,
}: {
  system: string;
  row: SetAside;
  onClose: () => void;
  /** Called after each check, whatever came of it. */
  onDone: () => Promise<void>;
}) {
  const [content, setContent] = useState(row.content);
  const [reason, setReason] = useState("");
  const [still, setStill] = useState<string | null>(null);
  const { errors, setErrors, busy, send, others } = useSubmission(["amended", "reason"]);
  const amend = async () => {
    if (!isObject(content)) {
      setErrors([{ field: CONTENT, message: "Give the whole row as one JSON object." }]);
      return;
    }
    await send(async () => {
      const { taken, amended } = await setAsideReplay({
        system,
        batch: row.batch,
        rows: [row.row],
        amended: [{ row: row.row, content }],
        reason: reason.trim(),
      });
      const problem = taken > 0 ? null : (amended[0]?.problem ?? GONE);
      await onDone();
      setStill(problem);
      if (problem === null) {
        tell("1 taken");
        onClose();
      }
    });
  };
  return (
    <Dialog title={`Amend row ${fixed(row.row)}`} open onClose={onClose} wide>
      <form
        className="form amend"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void amend();
        }}
      >
        {others.length > 0 ? (
          <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
        ) : null}
        <Note tone="warn">
          {still === null ? "Set aside: " : "Still set aside: "}
          <b>{still ?? row.problem}</b>
        </Note>
        <TextArea
          label="Content"
          hint="The whole row as a JSON object. It is checked again, and counts if it fits, however old it is."
          value={content}
          onChange={setContent}
          error={messageFor(errors, CONTENT) ?? messageFor(errors, "amended")}
        />
        <TextField
          label="Reason"
          hint="Kept in the history."
          required={false}
          maxLength={400}
          value={reason}
          onChange={setReason}
          error={messageFor(errors, "reason")}
        />
        <div className="formfoot">
          <span className="r">
            <button type="button" className="btn" onClick={onClose}>
              Cancel
            </button>
            <Command primary type="submit" disabled={busy}>
              Amend
            </Command>
          </span>
        </div>
      </form>
    </Dialog>
  );
}
