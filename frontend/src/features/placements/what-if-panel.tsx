/** Sliders over a frozen placement: what a changed contract would do, and from which bucket on it is free. */
import { FreeBucket } from "./sentences";
import { moved, scalesOf, type Draft } from "./what-if";
import type { WhatIfState } from "./use-what-if";

import type { Outcome } from "@/api/placements";
import { Note } from "@/components/ui/dialogs";
import { Icon } from "@/components/ui/icons";
import { Panel } from "@/components/ui/panel";
import { WhatIfSlider } from "@/components/ui/what-if-slider";
import { countText, fixed } from "@/lib/numbers";
import { complaintsOf, problemOf } from "@/lib/problem";

/** What is changed beside the sliders. */
function others({ drained, added }: Draft): string[] {
  return [
    ...(added === undefined ? [] : [countText(added, "broker more", "brokers more")]),
    ...(drained === undefined
      ? []
      : [drained.length === 0 ? "no broker drained" : `drained: ${drained.join(", ")}`]),
  ];
}

export function WhatIfPanel({
  stored,
  trial,
  may,
}: {
  stored: Outcome;
  trial: WhatIfState;
  may: boolean;
}) {
  const { draft, set, reset, isOn, waits, outcome, error, retry } = trial;
  const beside = others(draft);
  const words = (lever: string, value: number, isStored: boolean) => {
    if (lever === "slo" && isStored && stored.contract.slo_p99_s === null) return "none";
    if (lever === "batch") return countText(value, "message");
    if (lever === "groupSize" && isStored) return `as today, up to ${fixed(value)}`;
    return undefined;
  };
  return (
    <Panel
      title="What if"
      sub={isOn ? "nothing is stored" : undefined}
      right={
        <>
          {waits ? (
            <span className="live" role="status">
              <i />
              computing
            </span>
          ) : null}
          <button type="button" className="btn sm ghost" onClick={reset} disabled={!isOn}>
            <Icon name="refresh" small />
            Reset
          </button>
        </>
      }
    >
      <div className="whatif">
        {scalesOf(stored).map((scale) => {
          const value = draft[scale.lever] ?? scale.start;
          return (
            <WhatIfSlider
              key={scale.lever}
              label={scale.label}
              value={value}
              stored={scale.stored}
              steps={scale.steps}
              unit={scale.unit}
              decimals={scale.decimals}
              text={words(scale.lever, value, draft[scale.lever] === undefined)}
              disabled={!may}
              onChange={(next) => set(moved(draft, scale, next))}
            />
          );
        })}
        {beside.length > 0 ? <p className="lead">Also changed: {beside.join("; ")}.</p> : null}
        {may ? null : <p className="lead">Only who may start runs can try changes.</p>}
        {error ? (
          <div className="stack">
            <Note tone="bad">
              {complaintsOf(error)
                .map(({ message }) => message)
                .join(" ")}{" "}
              What is shown is the answer before.
            </Note>
            {problemOf(error).status === 409 ? null : (
              <span>
                <button type="button" className="btn sm" onClick={retry}>
                  <Icon name="refresh" small />
                  Try again
                </button>
              </span>
            )}
          </div>
        ) : (
          <div className="note">
            <Icon name="bulb" />
            <span>
              <FreeBucket outcome={outcome} />
            </span>
          </div>
        )}
      </div>
    </Panel>
  );
}
