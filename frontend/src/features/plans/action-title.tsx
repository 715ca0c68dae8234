/** An action in words that tell its brokers apart, whatever hyphens are in their names. */
import { plain } from "./words";

type Values = Readonly<Record<string, unknown>> | null;
type Named = {
  kind: string;
  title: string;
  target: Readonly<Record<string, string>>;
  before?: Values;
  after?: Values;
};

/** What moves in the map of flows, and from where to where; a place that is none is null. */
function moveInMap({ kind, target, before, after }: Named) {
  const [what, where] =
    kind === "move_flow"
      ? (["flow", "stream"] as const)
      : kind === "move_stream"
        ? (["stream", "group"] as const)
        : [];
  const name = what && target[what];
  if (!name) return null;
  const place = (values: Values | undefined) => {
    const value = values?.[where];
    return typeof value === "string" ? value : null;
  };
  return { what, where, name, from: place(before), to: place(after) };
}

/** The noun before a name, where the name does not begin with it. */
const nounOf = (noun: string, name: string) =>
  name.toLowerCase().startsWith(noun) ? "" : `${noun} `;

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
  const move = moveInMap(action);
  if (move) {
    const { what, where, name, from, to: goal } = move;
    const subject = (
      <>
        {what === "stream" ? nounOf(what, name) : ""}
        <b>{name}</b>
      </>
    );
    return (
      <span title={title}>
        {goal === null ? (
          <>
            Take {subject} out of {nounOf(where, from ?? "")}
            {from}
          </>
        ) : (
          <>
            {from === null ? "Put" : "Move"} {subject}{" "}
            {from === null
              ? `into ${nounOf(where, goal)}`
              : `from ${nounOf(where, from)}${from} to `}
            <b>{goal}</b>
          </>
        )}
      </span>
    );
  }
  return <b title={title}>{plain(title)}</b>;
}

/** What takes the action back: of links only where they return to. */
export function undoWords(action: Named & { undo_title: string }): string {
  const { kind, target } = action;
  if (kind === "shift_link" && target.j) return `back to ${target.j}`;
  const move = moveInMap(action);
  if (move) return move.from === null ? "out again" : `back to ${move.where} ${move.from}`;
  return plain(action.undo_title);
}
