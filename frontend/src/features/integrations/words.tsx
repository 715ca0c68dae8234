/** Connections in words. */
import type { Connection, WaitingMessage } from "@/api/connections";
import { Badge } from "@/components/ui/state-badge";

/** Whether the other side answers. */
export function ConnectionState({ row, large }: { row: Connection; large?: boolean }) {
  if (row.enabled === false) {
    return (
      <Badge
        tone="idle"
        icon="ban"
        large={large}
        title="Nothing is sent, and no plan waits for it."
      >
        Off
      </Badge>
    );
  }
  if (row.problem !== "") {
    return (
      <Badge tone="bad" icon="offline" large={large} title={row.problem}>
        Does not answer
      </Badge>
    );
  }
  if (row.answered_at === null) {
    return (
      <Badge tone="idle" icon="clock" large={large}>
        Not tried yet
      </Badge>
    );
  }
  return (
    <Badge tone="good" icon="check" large={large}>
      Answers
    </Badge>
  );
}

/** What executing a plan waits for there. */
export function gateText(row: Connection): string {
  if (row.approval_needed) {
    return row.window_from_change ? "approval there, and its window" : "approval there";
  }
  return row.window_from_change ? "the window of the change" : "nothing";
}

export const MESSAGES: Record<WaitingMessage["kind"], string> = {
  open: "Open the change",
  comment: "Comment",
  begin: "Say that it is carried out",
  end: "Close the change",
};
