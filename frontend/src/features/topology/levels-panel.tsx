/** Levels of the last hour, day or week: brokers against time, the highest first. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { BrokerNode } from "./graph";

import { levelsQuery, type Levels, type LevelSpan } from "@/api/telemetry";
import { Segments } from "@/components/ui/page";
import { Empty, Failure, Loading, Panel } from "@/components/ui/panel";
import { loadLevel } from "@/lib/load";
import { countText, fixed, percentText } from "@/lib/numbers";
import { clockText } from "@/lib/time";

/** Rows that are drawn: as many as are read at a glance. */
const MOST = 14;

const SPANS: readonly { value: LevelSpan; label: string }[] = [
  { value: "hour", label: "1 h" },
  { value: "day", label: "24 h" },
  { value: "week", label: "7 d" },
];
const WORDS: Record<LevelSpan, { title: string; cell: string }> = {
  hour: { title: "Levels, last hour", cell: "one cell a minute" },
  day: { title: "Levels, last 24 hours", cell: "one cell 15 minutes" },
  week: { title: "Levels, last 7 days", cell: "one cell 2 hours" },
};

export type LevelRow = { name: string; cells: (number | null)[]; last: number };

/** Brokers whose capacity is known, the fullest of them. */
export const fullest = (nodes: readonly BrokerNode[]) =>
  nodes
    .flatMap(({ broker, traffic }) => {
      const most = traffic?.capacity_per_s ?? null;
      if (!traffic || most === null || most <= 0) return [];
      return [{ id: broker.id, name: broker.name, most, now: traffic.handled_per_s / most }];
    })
    .sort((a, b) => b.now - a.now || (a.name < b.name ? -1 : 1))
    .slice(0, MOST);

/** Shares of the capacity, cell by cell; brokers of which nothing is known are left out. */
export function levelRows(brokers: ReturnType<typeof fullest>, levels: Levels): LevelRow[] {
  const known = new Map(levels.brokers.map((row) => [row.broker_name, row.handled_per_s]));
  return brokers
    .flatMap(({ name, most }): LevelRow[] => {
      const cells = (known.get(name) ?? []).map((rate) => (rate === null ? null : rate / most));
      const last = cells.findLast((cell) => cell !== null);
      return typeof last === "number" ? [{ name, cells, last }] : [];
    })
    .sort((a, b) => b.last - a.last);
}

/** When the first, the middle and the last cell begin and end. */
function Axis({ levels }: { levels: Levels }) {
  const [from, until] = [new Date(levels.since), new Date(levels.until)];
  const middle = new Date((from.getTime() + until.getTime()) / 2);
  return (
    <div className="axis">
      <span />
      <i>
        {[from, middle, until].map((at) => (
          <time key={at.getTime()} dateTime={at.toISOString()}>
            {clockText(at, until)}
          </time>
        ))}
      </i>
      <span />
    </div>
  );
}

export function LevelsPanel({ system, nodes }: { system: string; nodes: readonly BrokerNode[] }) {
  const [span, setSpan] = useState<LevelSpan>("hour");
  const brokers = fullest(nodes);
  const levels = useQuery({
    ...levelsQuery(system, span, brokers.map(({ id }) => id).sort()),
    enabled: brokers.length > 0,
    placeholderData: keepPreviousData,
  });
  if (brokers.length === 0) return null;
  const rows = levels.data ? levelRows(brokers, levels.data) : [];
  const { title, cell } = WORDS[span];
  const all = nodes.length;
  return (
    <Panel
      title={title}
      sub={`messages taken in and delivered, % of capacity; ${cell}, ${all > MOST ? `the ${fixed(MOST)} fullest of ${countText(all, "broker")}` : "highest first"}`}
      right={
        <Segments label="Levels of the last" value={span} options={SPANS} onChange={setSpan} />
      }
    >
      {levels.error ? (
        <Failure error={levels.error} what="The levels" retry={() => void levels.refetch()} />
      ) : levels.data === undefined ? (
        <Loading rows={4} label="Loading the levels" />
      ) : rows.length === 0 ? (
        <Empty>Levels appear here a minute after the agents begin to measure.</Empty>
      ) : (
        <div
          className="levels"
          role="img"
          aria-label={rows.map(({ name, last }) => `${name} ${percentText(last)}`).join(", ")}
        >
          {rows.map(({ name, cells, last }) => (
            <div key={name}>
              <span>{name}</span>
              <i>
                {cells.map((share, index) => (
                  <b
                    key={index}
                    className={share === null ? "none" : share > 1 ? "over" : undefined}
                    style={
                      share === null
                        ? undefined
                        : { background: `var(--load-${Math.min(5, loadLevel(share))})` }
                    }
                  />
                ))}
              </i>
              <span className={last > 1 ? "r over" : "r"}>{percentText(last)}</span>
            </div>
          ))}
          <Axis levels={levels.data} />
        </div>
      )}
    </Panel>
  );
}
