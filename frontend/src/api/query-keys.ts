/** One tree of query keys per resource; live news invalidates by its branches. */
import type { CatalogKind, ListQuery } from "./catalog";

export const keys = {
  session: ["session"] as const,
  systems: {
    all: ["systems"] as const,
    list: (query: ListQuery) => ["systems", "list", query] as const,
    one: (id: string) => ["systems", "one", id] as const,
  },
  catalog: {
    all: ["catalog"] as const,
    kind: (kind: CatalogKind) => ["catalog", kind] as const,
    list: (kind: CatalogKind, query: ListQuery) => ["catalog", kind, "list", query] as const,
    whole: (kind: CatalogKind, query: ListQuery) => ["catalog", kind, "whole", query] as const,
    one: (kind: CatalogKind, id: string) => ["catalog", kind, "one", id] as const,
  },
  runs: {
    all: ["runs"] as const,
    list: (query: ListQuery) => ["runs", "list", query] as const,
    one: (id: string) => ["runs", "one", id] as const,
  },
  allocations: {
    all: ["allocations"] as const,
    list: (query: ListQuery) => ["allocations", "list", query] as const,
    one: (id: string) => ["allocations", "one", id] as const,
    rows: (id: string, rows: string) => ["allocations", "one", id, rows] as const,
    comparison: (id: string, other: string) =>
      ["allocations", "one", id, "against", other] as const,
  },
  plans: {
    all: ["plans"] as const,
    lists: ["plans", "list"] as const,
    list: (query: ListQuery | object) => ["plans", "list", query] as const,
    one: (id: string) => ["plans", "one", id] as const,
    outcomes: (days: number) => ["plans", "outcomes", days] as const,
  },
  executions: {
    all: ["executions"] as const,
    one: (id: string) => ["executions", "one", id] as const,
  },
  agents: {
    all: ["agents"] as const,
    list: (system: string) => ["agents", "list", system] as const,
    everywhere: ["agents", "everywhere"] as const,
  },
  policies: {
    all: ["policies"] as const,
    of: (system: string | null) => ["policies", system ?? "default"] as const,
  },
  /** One branch per system: news name the system that measured. */
  telemetry: {
    all: ["telemetry"] as const,
    system: (system: string) => ["telemetry", system] as const,
    flows: (system: string) => ["telemetry", system, "flows"] as const,
    latest: (system: string) => ["telemetry", system, "latest"] as const,
    series: (broker: string, minutes: number) => ["telemetry-series", broker, minutes] as const,
  },
  audit: {
    all: ["audit"] as const,
    list: (query: ListQuery) => ["audit", "list", query] as const,
  },
  users: { all: ["users"] as const, list: (query: ListQuery) => ["users", query] as const },
  tokens: { all: ["tokens"] as const, list: (query: ListQuery) => ["tokens", query] as const },
  overview: ["overview"] as const,
  utilityKinds: ["utility-kinds"] as const,
  optimizers: ["optimizers"] as const,
};
