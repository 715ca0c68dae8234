/** What an import would do, or why it would do nothing. */
import type { Imported } from "@/api/catalog";
import type { System } from "@/api/systems";
import { valueText } from "@/components/ui/audit-trail";
import { Note } from "@/components/ui/dialogs";
import { Scroll } from "@/components/ui/scroll";
import { countText, fixed } from "@/lib/numbers";
import { problemOf } from "@/lib/problem";
import { fieldWord, plainWords } from "@/lib/words";

const HEIGHT = 260;

export function ImportRefusal({ error }: { error: unknown }) {
  const problem = problemOf(error);
  if (problem.errors.length === 0) return <Note tone="bad">{problem.detail}</Note>;
  const more = problem.moreErrors ?? 0;
  const count = problem.errors.length + more;
  return (
    <>
      <Note tone="bad">
        {countText(count, "error")}: nothing is imported. Correct the table and give it again.
      </Note>
      <Scroll label="Errors" maxHeight={HEIGHT}>
        <table className="diff" aria-label="Errors">
          <thead>
            <tr>
              <th scope="col">Where</th>
              <th scope="col">What is wrong</th>
            </tr>
          </thead>
          <tbody>
            {problem.errors.map(({ field, message, line }, index) => (
              <tr key={index}>
                <td>
                  {[line === undefined ? "" : `Line ${line}`, field].filter(Boolean).join(", ") ||
                    "Table"}
                </td>
                <td>{message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {more > 0 ? <p className="muted">{countText(more, "more error")} not shown.</p> : null}
    </>
  );
}

type Row = Imported["rows"][number];

/** One line for an object that is new, and one for each field that changes. */
function Lines({ row }: { row: Row }) {
  const { name, before, after } = row;
  if (before === null) {
    const given = Object.entries(after ?? {})
      .filter(([field, value]) => field !== "name" && !isNothing(value))
      .map(([field, value]) => `${fieldWord(field)} ${valueText(value)}`);
    return (
      <tr>
        <td>{name}</td>
        <td className="a" colSpan={3}>
          {given.length > 0 ? `new: ${given.join(", ")}` : "new"}
        </td>
      </tr>
    );
  }
  return Object.keys(after ?? {}).map((field, index) => (
    <tr key={field}>
      <td>{index === 0 ? name : ""}</td>
      <td>{fieldWord(field)}</td>
      <td className="b">{valueText(before[field])}</td>
      <td className="a">{valueText(after?.[field])}</td>
    </tr>
  ));
}

const isNothing = (value: unknown): boolean =>
  value === null ||
  value === "" ||
  value === false ||
  (typeof value === "object" && Object.keys(value).length === 0);

export function ImportPreview({
  result,
  stale,
  now,
}: {
  result: Imported;
  /** The next answer is on its way. */
  stale: boolean;
  now: System;
}) {
  const changes = result.created + result.changed;
  const hidden = changes - result.rows.length;
  return (
    <div className={stale ? "isstale" : undefined}>
      <p>
        <b>{fixed(result.created)}</b> new, <b>{fixed(result.changed)}</b> changed,{" "}
        {fixed(result.unchanged)} unchanged
        {changes > 0 ? (
          <span className="muted">
            {" "}
            {result.model_version === now.model_version
              ? `· model v${fixed(now.model_version)} stays`
              : `· model v${fixed(now.model_version)} → v${fixed(result.model_version)}`}
          </span>
        ) : (
          ": the system is as the table says."
        )}
      </p>
      {result.also.length > 0 ? (
        <p>
          Also new: {countText(result.also_created, plainWords(result.also[0]?.kind ?? ""))} (
          {result.also.map((one) => one.name).join(", ")})
        </p>
      ) : null}
      {changes > 0 ? (
        <Scroll label="Changes" maxHeight={HEIGHT}>
          <table className="diff" aria-label="Changes">
            <thead>
              <tr>
                <th scope="col">Object</th>
                <th scope="col">Field</th>
                <th scope="col">Before</th>
                <th scope="col">After</th>
              </tr>
            </thead>
            <tbody>
              {result.rows.map((row) => (
                <Lines key={row.name} row={row} />
              ))}
            </tbody>
          </table>
        </Scroll>
      ) : null}
      {hidden > 0 ? (
        <p className="muted">{countText(hidden, "more object")} not shown here.</p>
      ) : null}
    </div>
  );
}
