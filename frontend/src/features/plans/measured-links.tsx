/** Messages on links, measured against what the plan promised: a plan that moves links is for that. */
import { useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { memo, useMemo } from "react";

import { PromiseChart } from "./promise-chart";
import { onLinks, since } from "./traffic-promise";

import { seriesQuery, telemetryQuery, type Point } from "@/api/telemetry";
import { Panel, QueryBody } from "@/components/ui/panel";
import { useNow } from "@/lib/clock";

const SECONDS = 120;
/** What more brokers measured before the page was open is not asked for. */
const FEW = 12;
const OLD_S = 10;

/** Kept by the queries for as long as none of the answers changes. */
const combine = (found: UseQueryResult<{ points: Point[] }>[]) =>
  found.map(({ data }) => data?.points ?? []);

export const MeasuredLinks = memo(function MeasuredLinks({
  system,
  brokers,
  promised,
}: {
  system: string;
  /** Id by name. */
  brokers: ReadonlyMap<string, string>;
  /** Messages a second on links at the goal; null where nobody reckoned them. */
  promised: number | null;
}) {
  const clock = useNow(true);
  const telemetry = useQuery(telemetryQuery(system));
  const names = useMemo(() => [...brokers.keys()], [brokers]);
  const stored = useQueries({
    queries: (names.length <= FEW ? [...brokers.values()] : []).map((id) =>
      seriesQuery(id, SECONDS / 60, "links"),
    ),
    combine,
  });
  const heard = telemetry.data?.heard;
  const points = useMemo(() => {
    const told = names.map((name, index) => ({
      stored: stored[index] ?? [],
      heard: heard?.[name] ?? [],
    }));
    return since(onLinks(told), SECONDS);
  }, [names, stored, heard]);
  const newest = (telemetry.data?.latest ?? []).map(({ at }) => new Date(at).getTime());
  const lastAt = Math.max(0, ...newest);
  const age = Math.max(0, Math.floor((clock.getTime() - lastAt) / 1000));
  const old = age > OLD_S;
  return (
    <Panel
      title="Measured against promised"
      right={
        lastAt === 0 ? undefined : (
          <span className={old ? "live stale" : "live"}>
            <i />
            {old ? `${age} s old` : "last 2 min"}
          </span>
        )
      }
      flush
      stale={old && lastAt > 0}
    >
      <QueryBody query={telemetry} what="Measurements" rows={4}>
        {() => (
          <div className="body minis">
            <div className="mini">
              <h3>
                Traffic on links
                <span className="u">msg/s</span>
              </h3>
              <PromiseChart label="Traffic on links" line={{ points, promised, unit: "msg/s" }} />
            </div>
            <div className="legend">
              <span>
                <svg width="22" height="10" aria-hidden="true">
                  <path d="M0 5H22" stroke="var(--c1)" strokeWidth="2" />
                </svg>
                measured by the agents
              </span>
              {promised === null ? null : (
                <span>
                  <svg width="22" height="10" aria-hidden="true">
                    <path d="M0 5H22" stroke="var(--after)" strokeWidth="1.5" strokeDasharray="4 3" />
                  </svg>
                  promised at the end
                </span>
              )}
            </div>
          </div>
        )}
      </QueryBody>
    </Panel>
  );
});
