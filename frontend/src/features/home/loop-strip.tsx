/** Observe to verify: where the loop stands over all systems. Stations without data say so. */
import { useQuery } from "@tanstack/react-query";

import type { Overview } from "@/api/allocations";
import { outcomesQuery, plansQuery } from "@/api/plans";
import { allAgentsQuery } from "@/api/telemetry";
import { Icon, type IconName } from "@/components/ui/icons";
import { tally } from "@/components/ui/verdicts";
import { countText, fixed } from "@/lib/numbers";

type Station = { name: string; icon: IconName; note: string; state: "good" | "active" | "idle" };

/** Counts of the second half of the loop; null while they are not known yet. */
export type LoopCounts = {
  agents: { live: number; all: number } | null;
  inReview: number | null;
  approved: number | null;
  executing: number | null;
  outcomes: { all: number; judged: number; kept: number } | null;
};

export const NO_COUNTS: LoopCounts = {
  agents: null,
  inReview: null,
  approved: null,
  executing: null,
  outcomes: null,
};

const ONE = { page_size: 1 };
export const OUTCOME_DAYS = 7;

function useLoopCounts(): LoopCounts {
  const agents = useQuery(allAgentsQuery).data?.results;
  const inReview = useQuery(plansQuery({ ...ONE, state: ["pending_review"] })).data;
  const approved = useQuery(plansQuery({ ...ONE, state: ["approved"] })).data;
  const executing = useQuery(plansQuery({ ...ONE, state: ["executing"] })).data;
  const outcomes = useQuery(outcomesQuery({ days: OUTCOME_DAYS })).data?.results;
  return {
    agents: agents
      ? { live: agents.filter((agent) => agent.state === "live").length, all: agents.length }
      : null,
    inReview: inReview?.count ?? null,
    approved: approved?.count ?? null,
    executing: executing?.count ?? null,
    outcomes: outcomes ? { all: outcomes.length, ...tally(outcomes) } : null,
  };
}

/** The stations that plans pass, one count each. */
function planStations(counts: LoopCounts): Station[] {
  const station = (
    name: string,
    icon: IconName,
    count: number | null,
    note: (n: number) => string,
    busy = false,
  ): Station =>
    count
      ? { name, icon, note: note(count), state: busy ? "active" : "good" }
      : { name, icon, note: "none now", state: "idle" };
  const done = counts.outcomes;
  return [
    station("Plan", "plan", counts.inReview, (n) => `${fixed(n)} in review`),
    station("Approve", "usercheck", counts.approved, (n) => `${fixed(n)} approved`),
    station("Execute", "progress", counts.executing, (n) => `${fixed(n)} executing`, true),
    done && done.all > 0
      ? {
          name: "Verify",
          icon: "target",
          note:
            done.judged > 0
              ? `${fixed(done.kept)} of ${fixed(done.judged)} kept`
              : `${fixed(done.all)} executed`,
          state: done.judged > 0 && done.kept === done.judged ? "good" : "idle",
        }
      : { name: "Verify", icon: "target", note: "none yet", state: "idle" },
  ];
}

export function stationsOf(systems: readonly Overview[], counts = NO_COUNTS): Station[] {
  const runs = systems.flatMap((system) => (system.latest_run ? [system.latest_run] : []));
  const latest = [...runs].sort((a, b) => b.number - a.number)[0];
  const active = systems.reduce((total, system) => total + system.active_runs, 0);
  const allocated = systems.filter((system) => system.latest_allocation !== null);
  const current = allocated.filter((system) => !system.model_moved);
  const topics = systems.reduce((total, system) => total + system.topics, 0);
  const none = { note: "none yet", state: "idle" as const };
  return [
    counts.agents && counts.agents.all > 0
      ? {
          name: "Observe",
          icon: "broadcast",
          note: `${fixed(counts.agents.live)} of ${countText(counts.agents.all, "agent")}`,
          state: counts.agents.live > 0 ? "good" : "idle",
        }
      : { name: "Observe", icon: "broadcast", note: "no agents yet", state: "idle" },
    {
      name: "Model",
      icon: "database",
      note: countText(topics, "topic"),
      state: topics > 0 ? "good" : "idle",
    },
    allocated.length > 0
      ? {
          name: "Snapshot",
          icon: "camera",
          note: `${fixed(current.length)} of ${fixed(allocated.length)} current`,
          state: "good",
        }
      : { name: "Snapshot", icon: "camera", ...none },
    latest
      ? {
          name: "Run",
          icon: "play",
          note: active > 0 ? `${fixed(active)} active` : `R-${latest.number} ${latest.state}`,
          state: active > 0 ? "active" : "good",
        }
      : { name: "Run", icon: "play", ...none },
    ...planStations(counts),
  ];
}

export function LoopStrip({ systems }: { systems: readonly Overview[] }) {
  const counts = useLoopCounts();
  return (
    <ol className="loop" aria-label="The loop, all systems">
      {stationsOf(systems, counts).map((station) => (
        <li key={station.name} className={station.state}>
          <span className="dot">
            <Icon name={station.icon} />
          </span>
          <div>
            <b>{station.name}</b>
            <span>{station.note}</span>
          </div>
        </li>
      ))}
    </ol>
  );
}
