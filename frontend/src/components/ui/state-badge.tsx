/** State of a run, of an allocation, of a load: always icon and word, colour never alone. */
import { Icon, type IconName } from "./icons";

import type { LoadState } from "@/lib/load";

export type Tone = "idle" | "waits" | "active" | "good" | "warn" | "bad";

type Look = { tone: Tone; icon: IconName; word: string };

const STATES: Record<string, Look> = {
  queued: { tone: "idle", icon: "clock", word: "Queued" },
  running: { tone: "active", icon: "progress", word: "Running" },
  succeeded: { tone: "good", icon: "check", word: "Succeeded" },
  infeasible: { tone: "warn", icon: "alert", word: "Infeasible" },
  failed: { tone: "bad", icon: "x", word: "Failed" },
  cancelled: { tone: "idle", icon: "ban", word: "Cancelled" },
  solved: { tone: "good", icon: "solved", word: "Solved" },
  optimal: { tone: "good", icon: "solved", word: "Optimal" },
  time_limit: { tone: "warn", icon: "clockx", word: "Time limit" },
  draft: { tone: "idle", icon: "clock", word: "Draft" },
  active: { tone: "good", icon: "check", word: "Active" },
  in_force: { tone: "good", icon: "check", word: "In force" },
  retired: { tone: "idle", icon: "ban", word: "Retired" },
};

const LOADS: Record<LoadState, Look> = {
  over: { tone: "bad", icon: "alert", word: "Over" },
  at: { tone: "warn", icon: "crest", word: "At crest" },
  near: { tone: "warn", icon: "crest", word: "Near crest" },
  steady: { tone: "good", icon: "check", word: "Steady" },
};

export function Badge({
  tone,
  icon,
  large = false,
  children,
  title,
}: {
  tone: Tone;
  icon: IconName;
  large?: boolean;
  children: React.ReactNode;
  title?: string;
}) {
  const kind = tone === "idle" ? "" : ` ${tone}`;
  return (
    <span className={`badge${kind}${large ? " lg" : ""}`} title={title}>
      <Icon name={icon} />
      {children}
    </span>
  );
}

/** The word of the lifecycle itself; an unknown state is shown as it is, never hidden. */
export function StateBadge({ state, large = false }: { state: string; large?: boolean }) {
  const word = state.charAt(0).toUpperCase() + state.slice(1).replaceAll("_", " ");
  const look = STATES[state] ?? { tone: "idle" as const, icon: "info" as const, word };
  return (
    <Badge tone={look.tone} icon={look.icon} large={large}>
      {look.word}
    </Badge>
  );
}

export function LoadBadge({ state }: { state: LoadState }) {
  const look = LOADS[state];
  return (
    <Badge tone={look.tone} icon={look.icon}>
      {look.word}
    </Badge>
  );
}
