/** Messages on links, measured against what the plan promised: a plan that moves links is for that. */
import { useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { memo, useMemo } from "react";

import { MeasuredFrame, MeasuredLegend } from "./measured-frame";
import { PromiseChart } from "./promise-chart";
import { onLinks, since } from "./traffic-promise";

import { seriesQuery, telemetryQuery, type Point } from "@/api/telemetry";

const SECONDS = 120;
/** What more brokers measured before the page was open is not asked for. */
const FEW = 12;

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
  return (
    <MeasuredFrame system={system} rows={4}>
      <div className="body minis">
        <div className="mini">
          <h3>
            Traffic on links
            <span className="u">msg/s</span>
          </h3>
          <PromiseChart label="Traffic on links" line={{ points, promised, unit: "msg/s" }} />
        </div>
        <MeasuredLegend measured="measured by the agents" promised={promised !== null} />
      </div>
    </MeasuredFrame>
  );
});
