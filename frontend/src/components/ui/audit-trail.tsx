/** Who did what, when and why; newest first, each with what changed. */
import { Icon, type IconName } from "./icons";

import type { Schemas } from "@/api/client";
import { decimalsFor, fixed } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

type Entry = Schemas["AuditEntry"];

const LOOKS: Record<string, { icon: IconName; word: string }> = {
  create: { icon: "plus", word: "created it" },
  update: { icon: "edit", word: "changed it" },
  delete: { icon: "trash", word: "deleted it" },
  revoke: { icon: "ban", word: "revoked it" },
  enrol: { icon: "key", word: "enrolled it" },
  adopt: { icon: "history", word: "took the model as what is in force" },
  adopt_restored: { icon: "history", word: "let the restored state count" },
  set_access: { icon: "edit", word: "set access" },
  set_retention: { icon: "edit", word: "set retention" },
};

export function valueText(value: unknown): string {
  if (value === null || value === undefined || value === "") return "\u2013";
  if (typeof value === "number") {
    return Number.isInteger(value)
      ? fixed(value)
      : fixed(value, Math.min(8, decimalsFor(value, 8))).replace(/\.?0+$/, "");
  }
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(valueText).join("; ");
  return Object.entries(value)
    .map(([name, part]) => `${name} ${valueText(part)}`)
    .join(", ");
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
            <td>{name.replaceAll("_", " ")}</td>
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
        const look = LOOKS[entry.action] ?? { icon: "history" as const, word: entry.action };
        return (
          <li key={entry.id}>
            <span className="dot">
              <Icon name={look.icon} small />
            </span>
            <div>
              <b className="strong">{entry.actor_name}</b> {look.word}
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
