/** The form of a schedule or trigger: its name, what is its own, and what both have in common. */
import { useQueryClient } from "@tanstack/react-query";

import { RULE_FIELDS, type RuleDraft } from "./rule-draft";
import { RuleFields } from "./rule-fields";

import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { TextField } from "@/components/ui/fields";
import { messageFor, type FieldProblem } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";
import { capital } from "@/lib/words";

export function RuleDialog<Body>({
  noun,
  row,
  drawn,
  draft,
  set,
  made,
  save,
  onClose,
  children,
}: {
  noun: "schedule" | "trigger";
  row: { name: string; answerable?: string | null } | null;
  /** Fields of the API that only this one draws. */
  drawn: readonly string[];
  draft: RuleDraft;
  set: (change: Partial<RuleDraft>) => void;
  /** What is saved, or why it cannot be. */
  made: () => { body: Body } | { errors: FieldProblem[] };
  save: (body: Body) => Promise<unknown>;
  onClose: () => void;
  children: (errors: readonly FieldProblem[]) => React.ReactNode;
}) {
  const queries = useQueryClient();
  const { errors, setErrors, busy, send, others } = useSubmission([...RULE_FIELDS, ...drawn]);
  const submit = async () => {
    const read = made();
    if ("errors" in read) {
      setErrors(read.errors);
      return;
    }
    await send(async () => {
      await save(read.body);
      await queries.invalidateQueries({ queryKey: keys.recomputation.all });
      onClose();
    });
  };
  const title = row ? `${capital(noun)} ${row.name}` : `New ${noun}`;
  return (
    <Dialog title={title} open onClose={onClose} wide>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {others.length > 0 ? (
          <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
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
        {children(errors)}
        <RuleFields draft={draft} set={set} errors={errors} answerable={row?.answerable} />
        <div className="formfoot">
          <span className="r">
            <button type="button" className="btn" onClick={onClose}>
              Discard
            </button>
            <Command primary type="submit" disabled={busy}>
              Save {noun}
            </Command>
          </span>
        </div>
      </form>
    </Dialog>
  );
}
