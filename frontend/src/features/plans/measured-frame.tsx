/** What measured-against-promised panels share: how fresh the measurements are, and the legend. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { telemetryQuery } from "@/api/telemetry";
import { Panel, QueryBody } from "@/components/ui/panel";
import { useNow } from "@/lib/clock";

/** Agents measure about once a second; older than this is no longer "now". */
const OLD_S = 10;

export function MeasuredFrame({
  system,
  rows,
  children,
}: {
  system: string;
  /** Of the skeleton that stands while nothing has come. */
  rows: number;
  children: ReactNode;
}) {
  const clock = useNow(true);
  const telemetry = useQuery(telemetryQuery(system));
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
      <QueryBody query={telemetry} what="Measurements" rows={rows}>
        {() => children}
      </QueryBody>
    </Panel>
  );
}

const LINES = {
  measured: { stroke: "var(--c1)", strokeWidth: "2" },
  promised: { stroke: "var(--after)", strokeWidth: "1.5", strokeDasharray: "4 3" },
};

function Entry({ line, children }: { line: keyof typeof LINES; children: ReactNode }) {
  return (
    <span>
      <svg width="22" height="10" aria-hidden="true">
        <path d="M0 5H22" {...LINES[line]} />
      </svg>
      {children}
    </span>
  );
}

export function MeasuredLegend({ measured, promised }: { measured: string; promised: boolean }) {
  return (
    <div className="legend">
      <Entry line="measured">{measured}</Entry>
      {promised ? <Entry line="promised">promised at the end</Entry> : null}
    </div>
  );
}
