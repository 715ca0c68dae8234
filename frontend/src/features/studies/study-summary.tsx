/** How large the study is, how long it may take, and the command that starts it. */
import type { StudyCheck } from "@/api/studies";
import { Command } from "@/components/ui/command";
import { Panel } from "@/components/ui/panel";
import { durationText, fixed } from "@/lib/numbers";

export function StudySummary({
  size,
  known,
  waiting,
  ready,
  busy,
  mayStart,
  children,
}: {
  /** What the form counts; null where only the server can. */
  size: number | null;
  known: StudyCheck | undefined;
  waiting: boolean;
  ready: boolean;
  busy: boolean;
  mayStart: boolean;
  children: React.ReactNode;
}) {
  const takes = known?.estimated_s ?? null;
  const duration = durationText(takes);
  return (
    <Panel title="This study">
      <div className="form">
        <dl className="kv" aria-live="polite">
          <dt>Answers to compute</dt>
          <dd>{fixed(known && ready ? known.points : size)}</dd>
          <dt>Estimated time</dt>
          <dd>
            {!ready || waiting ? (
              <span className="faint">{ready ? "asking" : "\u2013"}</span>
            ) : takes === null ? (
              <span className="faint">not known yet</span>
            ) : (
              <>
                {duration.text}
                <span className="u">{duration.unit}</span>
              </>
            )}
          </dd>
        </dl>
        <p className="lead">
          Scenarios are solved side by side on Spark. Answers appear as they are found; you may
          cancel at any time and keep what is there.
        </p>
        {children}
        <div className="formfoot">
          <span className="r">
            {mayStart ? (
              <Command
                primary
                icon="play"
                type="submit"
                disabled={busy || !ready}
                reason={busy ? "The study is being started." : "Mend the marked fields first."}
              >
                Start study
              </Command>
            ) : (
              <span className="faint">Your roles do not allow starting studies.</span>
            )}
          </span>
        </div>
      </div>
    </Panel>
  );
}
