/** How a link looks by what becomes of it, and the legend that says so. */
import type { EdgePhase } from "./timeline";
import type { LineStyle } from "./paint-links";

type Look = { word: string; colour: string; line: LineStyle; width: number; dash: string };

export const PHASES: Record<EdgePhase, Look> = {
  stays: { word: "stays", colour: "line-2", line: "solid", width: 3, dash: "" },
  leaves: { word: "will leave", colour: "before", line: "dashed", width: 3, dash: "7 4" },
  moving: { word: "on its way", colour: "moving", line: "dashdot", width: 3, dash: "8 3 2 3" },
  goal: { word: "goal", colour: "after", line: "dotted", width: 1.75, dash: "1 4" },
  placed: { word: "in place", colour: "after", line: "solid", width: 3, dash: "" },
};

export function PhaseLegend({
  only = ["stays", "leaves", "moving", "goal", "placed"],
  convoys = false,
}: {
  only?: readonly EdgePhase[];
  convoys?: boolean;
}) {
  return (
    <div className="legend">
      {only
        .map((phase) => PHASES[phase])
        .map(({ word, colour, dash, line }) => (
          <span key={word}>
            <svg width="22" height="10" aria-hidden="true">
              <path
                d="M0 5H22"
                stroke={`var(--${colour})`}
                strokeWidth={line === "dotted" ? 2 : 3}
                strokeDasharray={dash}
                strokeLinecap={line === "dotted" ? "round" : "butt"}
              />
            </svg>
            {word}
          </span>
        ))}
      {convoys ? (
        <span title="Links hitched to one broker that carries them along">
          <svg width="22" height="12" aria-hidden="true">
            <path
              d="M4 6H18"
              stroke="var(--moving)"
              strokeWidth="9"
              strokeLinecap="round"
              opacity=".2"
            />
            <circle
              cx="16"
              cy="6"
              r="4"
              fill="none"
              stroke="var(--moving)"
              strokeWidth="1.25"
              strokeDasharray="2 1.5"
            />
          </svg>
          convoy
        </span>
      ) : null}
    </div>
  );
}
