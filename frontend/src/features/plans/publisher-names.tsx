/** Whom a changed list of publishers releases and lets in: on demand, as it may name thousands. */
import { useState } from "react";

import type { PlanAction } from "@/api/plans";
import { countText, fixed } from "@/lib/numbers";

function Names({ what, names, of }: { what: string; names: readonly string[]; of: number }) {
  if (of === 0) return null;
  const more = of - names.length;
  return (
    <div>
      <dt>
        {what}, {fixed(of)}
      </dt>
      <dd>
        {names.join(", ")}
        {more > 0 ? ` and ${fixed(more)} more` : ""}
      </dd>
    </div>
  );
}

export function PublisherNames({ action }: { action: Pick<PlanAction, "publishers"> }) {
  const [shown, setShown] = useState(false);
  const change = action.publishers;
  const count = change ? change.released + change.let_in : 0;
  if (!change || count === 0) return null;
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
          <Names what="Released" names={change.released_names} of={change.released} />
          <Names what="Let in" names={change.let_in_names} of={change.let_in} />
          {change.is_first ? (
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
