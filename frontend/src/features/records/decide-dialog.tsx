/** What becomes of all rows with one problem, confirmed before it is done. */
import { discardedText, MOST_AT_ONCE, replayedText, TABLES } from "./words";

import { setAsideDiscard, setAsideReplay, type ProblemCounts } from "@/api/records";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { countText, fixed } from "@/lib/numbers";

/** A command and the rows as they were counted when it was opened. */
export type Decision = { command: "replay" | "discard"; problem: ProblemCounts };

export function DecideDialog({
  system,
  decision: { command, problem: counted },
  onClose,
  onDone,
}: {
  system: string;
  decision: Decision;
  onClose: () => void;
  /** Gets a sentence with the outcome. */
  onDone: (outcome: string) => Promise<void>;
}) {
  const { table, problem, rows } = counted;
  const isReplay = command === "replay";
  const word = isReplay ? "Take after all" : "Discard";
  const run = async (reason: string) => {
    const choice = { system, table, problem, reason };
    if (isReplay) {
      await onDone(replayedText(await setAsideReplay(choice)));
    } else {
      const { discarded, left } = await setAsideDiscard(choice);
      await onDone(discardedText(discarded, left));
    }
  };
  return (
    <ConfirmDialog
      title={`${word}: ${countText(rows, "row")} of ${TABLES[table].toLowerCase()}`}
      command={word}
      dangerous={!isReplay}
      askReason
      open
      onClose={onClose}
      run={run}
    >
      <p>
        The problem: <b>{problem}</b>.
      </p>
      {isReplay ? (
        <p>
          {countText(rows, "row is", "rows are")} checked again, and those that fit now count,
          however old they are. The others stay set aside with what is wrong with them now.
        </p>
      ) : (
        <p>
          {countText(rows, "row", "rows")} will <b>never count</b>, and cannot be taken any more.
          They are shown by the API for as long as their batch is kept.
        </p>
      )}
      {rows > MOST_AT_ONCE ? (
        <p>One command takes {fixed(MOST_AT_ONCE)} rows; give it again for the rest.</p>
      ) : null}
    </ConfirmDialog>
  );
}
