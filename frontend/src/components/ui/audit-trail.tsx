/** Who did what, when and why; newest first, each with what changed. */
import { Icon, type IconName } from "./icons";

import type { Schemas } from "@/api/client";
import { decimalsFor, fixed } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";
import { actionWord, fieldWord } from "@/lib/words";

type Entry = Schemas["AuditEntry"];

const ICONS: Record<string, IconName> = {
  create: "plus",
  update: "edit",
  delete: "trash",
  revoke: "ban",
  enrol: "key",
  set_access: "edit",
  set_retention: "edit",
};

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

export function valueText(value: unknown): string {
  if (value === null || value === undefined || value === "") return "\u2013";
  if (typeof value === "number") {
    return Number.isInteger(value)
      ? fixed(value)
      : fixed(value, Math.min(8, decimalsFor(value, 8))).replace(/\.?0+$/, "");
  }
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return MOMENT.test(value) ? exactTime(value) : value;
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(valueText).join("; ");
  const members = Object.entries(value);
  if (members.length === 0) return "none";
  return members.map(([name, part]) => `${name} ${valueText(part)}`).join(", ");
}

/** The former and the new value of every field that an entry touched. */
export function Differences({ entry }: { entry: Entry }) {
  const names = [
    ...new Set([...Object.keys(entry.before ?? {}), ...Object.keys(entry.after ?? {})]),
  ];
  if (names.length === 0 || entry.before === null || entry.after === null) return null;
  return (
    <table className="diff">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {names.map((name) => (
          <tr key={name}>
            <td>{fieldWord(name)}</td>
            <td className="b">
              <span className="vh">before: </span>
              {valueText(entry.before?.[name])}
            </td>
            <td className="a">
              <span className="vh">after: </span>
              {valueText(entry.after?.[name])}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function AuditTrail({ entries }: { entries: readonly Entry[] }) {
  return (
    <ol className="audit">
      {entries.map((entry) => {
        return (
          <li key={entry.id}>
            <span className="dot">
              <Icon name={ICONS[entry.action] ?? "history"} small />
            </span>
            <div>
              <b className="strong">{entry.actor_name}</b> {actionWord(entry.action)}
              {entry.model_version ? (
                <span className="faint"> model v{entry.model_version}</span>
              ) : null}
              {entry.reason ? <p>{entry.reason}</p> : null}
            </div>
            <time dateTime={entry.at} title={exactTime(entry.at)}>
              {clockText(entry.at)}
            </time>
            <Differences entry={entry} />
          </li>
        );
      })}
    </ol>
  );
}
