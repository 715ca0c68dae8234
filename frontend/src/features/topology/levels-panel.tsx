/** Levels of the last minutes, brokers against time, as this page has heard them from the agents. */
import { useQuery } from "@tanstack/react-query";

import type { BrokerNode } from "./graph";

import { telemetryQuery, KEPT_S, type Telemetry } from "@/api/telemetry";
import { Panel } from "@/components/ui/panel";
import { loadLevel } from "@/lib/load";
import { fixed, percentText } from "@/lib/numbers";

const CELL_S = 5;
const CELLS = KEPT_S / CELL_S;
const MOST = 14;

export type LevelRow = { name: string; cells: (number | null)[]; last: number };

/** Messages in and out of each broker against its capacity, in cells of five seconds. */
export function levelRows(
  nodes: readonly BrokerNode[],
  heard: Readonly<Record<string, readonly Telemetry[]>>,
  until: number,
): LevelRow[] {
  return nodes
    .flatMap(({ broker, traffic }): LevelRow[] => {
      const most = traffic?.capacity_per_s ?? null;
      const samples = heard[broker.name] ?? [];
      if (most === null || most <= 0 || samples.length === 0) return [];
      const sums = Array.from({ length: CELLS }, () => ({ sum: 0, count: 0 }));
      for (const { at, broker_load } of samples) {
        const back = Math.floor((until - new Date(at).getTime()) / 1000 / CELL_S);
        const cell = sums[CELLS - 1 - back];
        if (!cell) continue;
        cell.sum += (broker_load.in_msgs_per_s ?? 0) + (broker_load.out_msgs_per_s ?? 0);
        cell.count += 1;
      }
      const cells = sums.map(({ sum, count }) => (count > 0 ? sum / count / most : null));
      const last = [...cells].reverse().find((cell) => cell !== null) ?? 0;
      return [{ name: broker.name, cells, last }];
    })
    .sort((a, b) => b.last - a.last)
    .slice(0, MOST);
}

export function LevelsPanel({ system, nodes }: { system: string; nodes: readonly BrokerNode[] }) {
  const telemetry = useQuery(telemetryQuery(system));
  const samples = telemetry.data?.latest ?? [];
  const until = Math.max(0, ...samples.map(({ at }) => new Date(at).getTime()));
  const rows = telemetry.data ? levelRows(nodes, telemetry.data.heard, until) : [];
  if (rows.length === 0) return null;
  return (
    <Panel
      title="Levels, last 3 minutes"
      sub={`messages in and out against capacity, one cell ${CELL_S} s, highest first`}
    >
      <div
        className="levels"
        role="img"
        aria-label={rows.map(({ name, last }) => `${name} ${percentText(last)}`).join(", ")}
      >
        {rows.map(({ name, cells, last }) => (
          <div key={name}>
            <span>{name}</span>
            <i>
              {cells.map((cell, index) => (
                <b
                  key={index}
                  className={cell === null ? "none" : cell > 1 ? "over" : undefined}
                  style={cell === null ? undefined : { background: `var(--load-${Math.min(5, loadLevel(cell))})` }}
                />
              ))}
            </i>
            <span className="r">{fixed(last * 100)} %</span>
          </div>
        ))}
      </div>
    </Panel>
  );
}
