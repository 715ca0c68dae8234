/** Whom a changed list of publishers releases and lets in: on demand, as it may name thousands. */
import { useState } from "react";

import { countText, fixed } from "@/lib/numbers";

/** More names than this are counted. */
const NAMES = 50;

type Values = Readonly<Record<string, unknown>> | null;
type Listing = { kind: string; before: Values; after: Values };

/** The names of a list; null where there is none, so that every publisher is let in. */
export function publishersOf(values: Values): readonly string[] | null {
  const names = values?.publishers;
  return Array.isArray(names)
    ? names.filter((name): name is string => typeof name === "string")
    : null;
}

/** Who has to leave and who may come, by name; null where the action is about something else, or a
 * list ends. */
export function listChange({
  kind,
  before,
  after,
}: Listing): { released: readonly string[]; letIn: readonly string[]; isFirst: boolean } | null {
  const names = publishersOf(after);
  if (kind !== "assign_publishers" || names === null) return null;
  const former = publishersOf(before);
  const [was, is] = [new Set(former), new Set(names)];
  return {
    released: (former ?? []).filter((name) => !is.has(name)),
    letIn: names.filter((name) => !was.has(name)),
    isFirst: former === null,
  };
}

function Names({ what, names }: { what: string; names: readonly string[] }) {
  if (names.length === 0) return null;
  const more = names.length - NAMES;
  return (
    <div>
      <dt>
        {what}, {fixed(names.length)}
      </dt>
      <dd>
        {names.slice(0, NAMES).join(", ")}
        {more > 0 ? ` and ${fixed(more)} more` : ""}
      </dd>
    </div>
  );
}

export function PublisherNames({ action }: { action: Listing }) {
  const [shown, setShown] = useState(false);
  const change = listChange(action);
  if (!change) return null;
  const { released, letIn, isFirst } = change;
  const count = released.length + letIn.length;
  if (count === 0) return null;
  return (
    <div className="publishers">
      <button
        type="button"
        className="link"
        aria-expanded={shown}
        onClick={() => setShown((before) => !before)}
      >
        {shown ? "Hide" : "Show"} the {countText(count, "publisher")}
      </button>
      {shown ? (
        <dl>
          <Names what="Released" names={released} />
          <Names what="Let in" names={letIn} />
          {isFirst ? (
            <div>
              <dt>Released</dt>
              <dd>everybody else: until now every publisher was let in</dd>
            </div>
          ) : null}
        </dl>
      ) : null}
    </div>
  );
}
