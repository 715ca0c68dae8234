/** One suggestion: who bursts together, why it is believed, which keys they carry, what became of it. */
import { useId, useState } from "react";
import { Link } from "react-router";

import { correlationAt } from "./addresses";
import { Decide, UndoCommand } from "./decide";
import { MembersTable } from "./members-table";
import { Raster } from "./raster";
import { evidenceOf, keysNowText, titleOf } from "./words";

import type { AnalysisDetail, Suggestion, SuggestionState } from "@/api/correlation";
import { Note } from "@/components/ui/dialogs";
import type { IconName } from "@/components/ui/icons";
import { Icon } from "@/components/ui/icons";
import { Badge, type Tone } from "@/components/ui/state-badge";
import { askAddress } from "@/lib/computations";
import { countText, rateText } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

const STATES: Record<SuggestionState, { tone: Tone; icon: IconName; word: string }> = {
  open: { tone: "waits", icon: "hourglass", word: "Open" },
  accepted: { tone: "good", icon: "check", word: "Accepted" },
  rejected: { tone: "idle", icon: "x", word: "Rejected" },
};

/** Who decided, when, and what was said. */
function Decision({ suggestion }: { suggestion: Suggestion }) {
  const { state, decided_by: by, decided_at: at, note, key_name: key, effect } = suggestion;
  return (
    <p title={exactTime(at)}>
      {state === "accepted" ? "Accepted" : "Rejected"} by {by ?? "Weir"}, {clockText(at)} UTC
      {state === "accepted" ? (
        <>
          , with the key <b>{key}</b>
        </>
      ) : null}
      .{note ? ` \u201c${note}\u201d` : ""}
      {effect ? ` ${effect}` : ""}
    </p>
  );
}

/** What somebody should know before a decision. */
function Cautions({
  suggestion: { rejected_before: before, same_as_key: same },
  system,
}: {
  suggestion: Suggestion;
  system: string;
}) {
  return (
    <>
      {before === null ? null : (
        <Note tone="warn">
          {before.by ?? "Somebody"} rejected nearly the same publishers in{" "}
          <Link to={correlationAt.one(system, before.analysis_id)}>{before.analysis}</Link>,{" "}
          {clockText(before.at)} UTC{before.note ? `: \u201c${before.note}\u201d` : "."}
        </Note>
      )}
      {same === "" ? null : (
        <Note tone="good">
          All members in the catalogue carry the key <b>{same}</b> already: nothing is left to
          accept.
        </Note>
      )}
    </>
  );
}

export function SuggestionRow({
  suggestion,
  analysis,
  mayPlace,
}: {
  suggestion: Suggestion;
  analysis: AnalysisDetail;
  mayPlace: boolean;
}) {
  const [all, setAll] = useState(false);
  const id = useId();
  const { state, size } = suggestion;
  const look = STATES[state];
  const within = analysis.outcome.search.within_s;
  const placed = state === "accepted" && mayPlace ? analysis.topic : null;
  return (
    <article className="suggestion" aria-labelledby={id}>
      <header>
        <h3 id={id}>
          {suggestion.number}. {titleOf(suggestion)}
        </h3>
        <Badge tone={look.tone} icon={look.icon}>
          {look.word}
        </Badge>
      </header>
      <div className="sides">
        <div>
          <Raster suggestion={suggestion} within_s={within} />
          <p>
            <button
              type="button"
              className="link"
              aria-expanded={all}
              onClick={() => setAll((on) => !on)}
            >
              {all ? "Hide" : "Show"} the {countText(size, "publisher")}
            </button>
          </p>
        </div>
        <div>
          <p>{evidenceOf(suggestion, within)}</p>
          <p className="muted">Together they send {rateText(suggestion.rate_per_s)} msg/s.</p>
          <p className="muted">{keysNowText(suggestion)}</p>
          {state === "open" ? (
            <>
              <Cautions suggestion={suggestion} system={analysis.system} />
              <Decide suggestion={suggestion} />
            </>
          ) : (
            <>
              <Decision suggestion={suggestion} />
              <div className="commands">
                {placed !== null ? (
                  <Link
                    className="btn"
                    to={askAddress("placement", analysis.system, { topic: placed })}
                  >
                    <Icon name="split" small />
                    Place the topic again
                  </Link>
                ) : null}
                <UndoCommand suggestion={suggestion} />
              </div>
            </>
          )}
        </div>
      </div>
      {all ? <MembersTable suggestion={suggestion} system={analysis.system} /> : null}
    </article>
  );
}
