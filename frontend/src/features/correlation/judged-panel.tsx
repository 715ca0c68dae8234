/** Who was compared with whom: those left out, and periods, whose publishers need more than one moment. */
import { useState } from "react";

import { leftOutTexts, periodText } from "./words";

import type { AnalysisDetail } from "@/api/correlation";
import { Panel } from "@/components/ui/panel";
import { fixed } from "@/lib/numbers";

const SHOWN = 3;

export function JudgedPanel({ analysis }: { analysis: AnalysisDetail }) {
  const [all, setAll] = useState(false);
  const { periods } = analysis.outcome;
  const left = leftOutTexts(analysis.outcome, analysis.left_out);
  if (left.length === 0 && periods.length === 0) return null;
  return (
    <Panel
      title="How they were judged"
      footer={
        periods.length > SHOWN ? (
          <button type="button" className="link" onClick={() => setAll((on) => !on)}>
            {all ? "Show the first periods" : `Show all ${fixed(periods.length)} periods`}
          </button>
        ) : undefined
      }
    >
      <div className="periodlist">
        {left.map((text) => (
          <p key={text}>{text}</p>
        ))}
        {(all ? periods : periods.slice(0, SHOWN)).map((period) => (
          <p key={period.period_s}>{periodText(period)}</p>
        ))}
        {periods.length === 0 ? null : (
          <p className="muted">
            Who keeps a period meets others of it again and again: a shared phase counts once,
            however many cycles were seen.
          </p>
        )}
      </div>
    </Panel>
  );
}
