/** Observe to verify: where the loop stands over all systems. Stations without data say so. */
import type { Overview } from "@/api/allocations";
import { Icon, type IconName } from "@/components/ui/icons";
import { countText, fixed } from "@/lib/numbers";

type Station = { name: string; icon: IconName; note: string; state: "good" | "active" | "idle" };

export function stationsOf(systems: readonly Overview[]): Station[] {
  const runs = systems.flatMap((system) => (system.latest_run ? [system.latest_run] : []));
  const latest = [...runs].sort((a, b) => b.number - a.number)[0];
  const active = systems.reduce((total, system) => total + system.active_runs, 0);
  const allocated = systems.filter((system) => system.latest_allocation !== null);
  const current = allocated.filter((system) => !system.model_moved);
  const topics = systems.reduce((total, system) => total + system.topics, 0);
  const none = { note: "none yet", state: "idle" as const };
  return [
    { name: "Observe", icon: "broadcast", note: "no agents yet", state: "idle" },
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
    { name: "Plan", icon: "plan", ...none },
    { name: "Approve", icon: "usercheck", ...none },
    { name: "Execute", icon: "progress", ...none },
    { name: "Verify", icon: "target", ...none },
  ];
}

export function LoopStrip({ systems }: { systems: readonly Overview[] }) {
  return (
    <ol className="loop" aria-label="The loop, all systems">
      {stationsOf(systems).map((station) => (
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
