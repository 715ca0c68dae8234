/** Brokers with their agents and what these measured, put together by name. */
import type { CatalogTypes } from "@/api/catalog";
import type { Agent, Recent, Telemetry } from "@/api/telemetry";

export type Broker = CatalogTypes["brokers"];

export type FleetRow = {
  broker: Broker;
  agent: Agent | null;
  latest: Telemetry | null;
  /** Messages out per second, oldest first, as this page has heard them. */
  out: readonly number[];
  backlog: number | null;
  admitted: number | null;
  waiting: number | null;
};

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

export function fleetRows(
  brokers: readonly Broker[],
  agents: readonly Agent[],
  recent: Recent | undefined,
): FleetRow[] {
  const agentOf = new Map(agents.map((agent) => [agent.broker, agent]));
  const latestOf = new Map((recent?.latest ?? []).map((point) => [point.broker, point]));
  return brokers.map((broker) => {
    const agent = agentOf.get(broker.id) ?? null;
    // What a silent agent measured last is the past, not the present.
    const latest = agent?.state === "live" ? (latestOf.get(broker.id) ?? null) : null;
    const classes = latest ? Object.values(latest.classes) : [];
    return {
      broker,
      agent,
      latest,
      // A moment of which nothing is known is no moment of silence.
      out: (recent?.heard[broker.name] ?? []).flatMap(
        (point) => point.broker_load.out_msgs_per_s ?? [],
      ),
      backlog: latest
        ? sum([
            ...Object.values(latest.flows).map((flow) => flow.backlog ?? 0),
            ...Object.values(latest.links).map((link) => link.backlog ?? 0),
          ])
        : null,
      admitted: latest ? sum(classes.map((row) => row.admitted ?? 0)) : null,
      waiting: latest ? sum(classes.map((row) => row.waiting ?? 0)) : null,
    };
  });
}

export type ClassRow = {
  name: string;
  limit: number | null;
  admitted: number;
  waiting: number;
  /** Messages per second; null where that is not known. */
  delivered: number | null;
};

/** The consumer classes of one broker as its agent sees them. */
export function classRows(row: FleetRow): ClassRow[] {
  const limits = row.agent?.observed?.limits ?? {};
  const classes = row.latest?.classes ?? {};
  const names = [...new Set([...Object.keys(limits), ...Object.keys(classes)])].sort();
  return names.map((name) => ({
    name,
    limit: limits[name] ?? null,
    admitted: classes[name]?.admitted ?? 0,
    waiting: classes[name]?.waiting ?? 0,
    delivered: classes[name]?.delivered_per_s ?? null,
  }));
}
