/** An action in words that tell its brokers apart, whatever hyphens are in their names. */
import { plain } from "./words";

type Named = { kind: string; title: string; target: Readonly<Record<string, string>> };

export function ActionTitle({ action }: { action: Named }) {
  const { kind, title, target } = action;
  const { i, j, k, broker, to, from } = target;
  if (kind === "shift_link" && i && j && k) {
    return (
      <span title={title}>
        Shift <b>{i}</b> from {j} to <b>{k}</b>
      </span>
    );
  }
  if (kind === "append_broker" && broker && to) {
    return (
      <span title={title}>
        Append <b>{broker}</b> to <b>{to}</b>
      </span>
    );
  }
  if (kind === "detach_broker" && broker && from) {
    return (
      <span title={title}>
        Detach <b>{broker}</b> from {from}
      </span>
    );
  }
  return <b title={title}>{plain(title)}</b>;
}

/** What takes the action back: of links only where they return to. */
export function undoWords(action: Named & { undo_title: string }): string {
  const { kind, target } = action;
  if (kind === "shift_link" && target.j) return `back to ${target.j}`;
  return plain(action.undo_title);
}
