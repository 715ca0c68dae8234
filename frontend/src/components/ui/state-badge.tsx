/** State of a run, of an allocation, of a load: always icon and word, colour never alone. */
import { Icon, type IconName } from "./icons";

import type { LoadState } from "@/lib/load";

export type Tone = "idle" | "waits" | "active" | "good" | "warn" | "bad";

type Look = { tone: Tone; icon: IconName; word: string; hatched?: boolean };

const STATES: Record<string, Look> = {
  queued: { tone: "idle", icon: "clock", word: "Queued" },
  running: { tone: "active", icon: "progress", word: "Running" },
  succeeded: { tone: "good", icon: "check", word: "Succeeded" },
  infeasible: { tone: "warn", icon: "alert", word: "Infeasible" },
  failed: { tone: "bad", icon: "x", word: "Failed" },
  cancelled: { tone: "idle", icon: "ban", word: "Cancelled" },
  refused: { tone: "warn", icon: "alert", word: "Refused" },
  solved: { tone: "good", icon: "solved", word: "Solved" },
  optimal: { tone: "good", icon: "solved", word: "Optimal" },
  not_converged: { tone: "warn", icon: "alert", word: "Not converged" },
  time_limit: { tone: "warn", icon: "clockx", word: "Time limit" },
  draft: { tone: "idle", icon: "clock", word: "Draft" },
  active: { tone: "good", icon: "check", word: "Active" },
  in_force: { tone: "good", icon: "check", word: "In force" },
  retired: { tone: "idle", icon: "ban", word: "Retired" },

  pending_review: { tone: "waits", icon: "hourglass", word: "Pending review" },
  approved: { tone: "good", icon: "check", word: "Approved" },
  executing: { tone: "active", icon: "progress", word: "Executing" },
  executed: { tone: "good", icon: "check", word: "Executed" },
  rejected: { tone: "bad", icon: "x", word: "Rejected" },
  stale: { tone: "warn", icon: "clockx", word: "Stale", hatched: true },
  superseded: { tone: "idle", icon: "versions", word: "Superseded" },
  discarded: { tone: "idle", icon: "ban", word: "Discarded" },

  pending: { tone: "idle", icon: "clock", word: "Pending" },
  pausing: { tone: "waits", icon: "hourglass", word: "Pausing" },
  paused: { tone: "waits", icon: "hourglass", word: "Paused" },
  stopping: { tone: "warn", icon: "alert", word: "Stopping" },
  stopped: { tone: "idle", icon: "ban", word: "Stopped" },
  rolling_back: { tone: "warn", icon: "back", word: "Rolling back" },
  rolled_back: { tone: "warn", icon: "back", word: "Rolled back" },
  in_progress: { tone: "active", icon: "progress", word: "In progress" },
  completed: { tone: "good", icon: "check", word: "Completed" },
  aborting: { tone: "warn", icon: "alert", word: "Aborting" },
  aborted: { tone: "idle", icon: "ban", word: "Aborted" },
  dead: { tone: "bad", icon: "skull", word: "Dead" },

  preparing: { tone: "active", icon: "progress", word: "Preparing" },
  draining: { tone: "active", icon: "progress", word: "Draining" },
  done: { tone: "good", icon: "check", word: "Done" },

  live: { tone: "good", icon: "check", word: "Live" },
  not_seen: { tone: "idle", icon: "clock", word: "Not seen yet" },
  silent: { tone: "warn", icon: "clockx", word: "Silent" },
  never: { tone: "idle", icon: "clock", word: "Never seen" },
  revoked: { tone: "idle", icon: "ban", word: "Revoked" },
};

const LOADS: Record<LoadState, Look> = {
  over: { tone: "bad", icon: "alert", word: "Over" },
  // Full use of what is scarce is what an optimum looks like: no alarm.
  at: { tone: "idle", icon: "crest", word: "Full" },
  near: { tone: "idle", icon: "crest", word: "Nearly full" },
  steady: { tone: "good", icon: "check", word: "Steady" },
};

export function Badge({
  tone,
  icon,
  large = false,
  hatched = false,
  children,
  title,
}: {
  tone: Tone;
  icon: IconName;
  large?: boolean;
  hatched?: boolean;
  children: React.ReactNode;
  title?: string;
}) {
  const kind = tone === "idle" ? "" : ` ${tone}`;
  return (
    <span className={`badge${kind}${large ? " lg" : ""}${hatched ? " stale" : ""}`} title={title}>
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
    <Badge tone={look.tone} icon={look.icon} large={large} hatched={look.hatched}>
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
