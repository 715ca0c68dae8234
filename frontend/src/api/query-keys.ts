/** One tree of query keys per resource; live news invalidates by its branches. */
import type { CatalogKind, ListQuery } from "./catalog";

export const keys = {
  session: ["session"] as const,
  systems: {
    all: ["systems"] as const,
    list: (query: ListQuery) => ["systems", "list", query] as const,
    one: (id: string) => ["systems", "one", id] as const,
    checklist: (id: string, version: number) =>
      ["systems", "one", id, "checklist", version] as const,
  },
  catalog: {
    all: ["catalog"] as const,
    kind: (kind: CatalogKind) => ["catalog", kind] as const,
    list: (kind: CatalogKind, query: ListQuery) => ["catalog", kind, "list", query] as const,
    whole: (kind: CatalogKind, query: ListQuery) => ["catalog", kind, "whole", query] as const,
    one: (kind: CatalogKind, id: string) => ["catalog", kind, "one", id] as const,
  },
  /** Imports of many interests at once. */
  interestImports: {
    all: ["interest-imports"] as const,
    list: (query: ListQuery | object) => ["interest-imports", "list", query] as const,
    one: (id: string) => ["interest-imports", "one", id] as const,
  },
  processes: ["processes"] as const,
  inbox: ["inbox"] as const,
  notifications: ["notifications"] as const,
  /** Channels of chats. What they were sent moves by itself. */
  channels: {
    all: ["channels"] as const,
    list: (query: ListQuery) => ["channels", "list", query] as const,
  },
  runs: {
    all: ["runs"] as const,
    list: (query: ListQuery) => ["runs", "list", query] as const,
    one: (id: string) => ["runs", "one", id] as const,
    /** What came of every method on the snapshot of an allocation: moves with the runs. */
    methods: (allocation: string) => ["runs", "methods", allocation] as const,
  },
  allocations: {
    all: ["allocations"] as const,
    list: (query: ListQuery) => ["allocations", "list", query] as const,
    one: (id: string) => ["allocations", "one", id] as const,
    rows: (id: string, rows: string) => ["allocations", "one", id, rows] as const,
    comparison: (id: string, other: string) =>
      ["allocations", "one", id, "against", other] as const,
    explanation: (id: string, consumerClass: string) =>
      ["allocations", "one", id, "why", consumerClass] as const,
  },
  placements: {
    all: ["placements"] as const,
    list: (query: ListQuery) => ["placements", "list", query] as const,
    one: (id: string) => ["placements", "one", id] as const,
    moves: (id: string, query: ListQuery) => ["placements", "one", id, "moves", query] as const,
    /** Apart from the placements: nothing that happens changes what was frozen. */
    whatIf: (id: string, changes: object | null) => ["placement-what-if", id, changes] as const,
    /** Apart from the placements, too: it changes with every measurement. */
    allParts: ["placement-parts"] as const,
    parts: (id: string) => ["placement-parts", id] as const,
    allRounds: ["placement-rounds"] as const,
    rounds: (id: string) => ["placement-rounds", id] as const,
    methods: ["placement-methods"] as const,
  },
  /** Maps of flows to streams and groups. `map`: which of one answer. */
  mappings: {
    /** News freshen these alone: a map never changes once it stands. */
    lists: ["mappings", "list"] as const,
    list: (query: ListQuery) => ["mappings", "list", query] as const,
    one: (id: string) => ["mappings", "one", id] as const,
    heat: (id: string, map: string, rows: number, columns: number) =>
      ["mappings", "one", id, "heat", map, rows, columns] as const,
    receivers: (id: string, map: string, query: ListQuery) =>
      ["mappings", "one", id, "receivers", map, query] as const,
    receiver: (id: string, map: string, user: string) =>
      ["mappings", "one", id, "receiver", map, user] as const,
    moves: (id: string, map: string, query: ListQuery) =>
      ["mappings", "one", id, "moves", map, query] as const,
    /** Apart from the maps: it moves with edits of the model. */
    allMappable: ["mappable"] as const,
    mappable: (system: string) => ["mappable", system] as const,
    filtering: (system: string) => ["filtering", system] as const,
    /** What the map in force costs: it moves with every step that moves a flow, and with weights. */
    allInForce: ["map-in-force"] as const,
    handOvers: (system: string) => ["hand-overs", system] as const,
    inForce: (system: string) => ["map-in-force", system] as const,
    settings: (system: string) => ["mapping-settings", system] as const,
    methods: ["mapping-methods"] as const,
  },
  /** By topic: parts of its bucket that follow its traffic. */
  adaptation: {
    all: ["adaptation"] as const,
    one: (topic: string) => ["adaptation", topic] as const,
  },
  /** Publishers that burst together. Members stand below their suggestion, which may be decided. */
  correlation: {
    all: ["correlation"] as const,
    list: (query: ListQuery) => ["correlation", "list", query] as const,
    one: (id: string) => ["correlation", "one", id] as const,
    suggestions: (analysis: string, query: ListQuery) =>
      ["correlation", "suggestions", analysis, query] as const,
    members: (suggestion: string, query: ListQuery) =>
      ["correlation", "members", suggestion, query] as const,
  },
  recordings: ["recordings"] as const,
  /** One branch per system: news name the system whose records arrived. */
  records: {
    system: (system: string) => ["records", system] as const,
    counts: (system: string) => ["records", system, "counts"] as const,
    batches: (system: string, query: ListQuery) => ["records", system, "batches", query] as const,
    setAside: (system: string, query: ListQuery) =>
      ["records", system, "set-aside", query] as const,
    /** What was summed of them; these move with what arrives. */
    sums: (system: string, query: ListQuery) => ["records", system, "sums", query] as const,
    choices: (system: string, range: string) => ["records", system, "choices", range] as const,
    quality: (system: string, range: string) => ["records", system, "quality", range] as const,
    /** Apart from what arrives: nothing but an edit changes them. */
    settings: (system: string) => ["record-settings", system] as const,
  },
  /** What is wanted of a system, and the estimates that snapshots were made with. */
  demand: {
    system: (system: string) => ["demand", system] as const,
    now: (system: string, of: object) => ["demand", system, "now", of] as const,
    settings: (system: string) => ["demand", system, "settings"] as const,
    requests: (system: string, utility: string | null) =>
      ["demand", system, "requests", utility] as const,
    estimates: (system: string, query: ListQuery | object) =>
      ["demand", system, "estimates", query] as const,
    estimate: (system: string, id: string) => ["demand", system, "estimate", id] as const,
    forecasts: (system: string) => ["demand", system, "forecasts"] as const,
    forecast: (system: string, id: string) => ["demand", system, "forecast", id] as const,
  },
  /** How the objectives of a system held, and the minutes of one. */
  objectives: {
    system: (system: string) => ["objectives", system] as const,
    list: (system: string, query: ListQuery) => ["objectives", system, "list", query] as const,
    minutes: (system: string, id: string) => ["objectives", system, "minutes", id] as const,
  },
  /** By topic: it moves with what is measured. */
  publisherTimes: (topic: string) => ["publisher-times", topic] as const,
  studies: {
    all: ["studies"] as const,
    list: (query: ListQuery) => ["studies", "list", query] as const,
    one: (id: string) => ["studies", "one", id] as const,
    /** Apart from the study itself: news of a study come often, its points are many. */
    points: (id: string, run: string, ended: boolean) => ["study-points", id, run, ended] as const,
    check: (body: unknown) => ["study-check", body] as const,
  },
  evaluations: {
    all: ["overlay-evaluations"] as const,
    list: (query: ListQuery) => ["overlay-evaluations", "list", query] as const,
    one: (id: string) => ["overlay-evaluations", "one", id] as const,
    candidates: (evaluation: string) => ["overlay-evaluations", "candidates", evaluation] as const,
    candidate: (id: string) => ["overlay-evaluations", "candidate", id] as const,
  },
  /** Apart from the evaluations: it moves with what is measured. */
  traffic: (system: string, window?: number) => ["overlay-traffic", system, window] as const,
  /** Moves with the agents: who is silent, and what they held. */
  repairs: (system: string) => ["repairs", system] as const,
  topologyTools: (what: string) => ["topology-tools", what] as const,
  plans: {
    all: ["plans"] as const,
    lists: ["plans", "list"] as const,
    list: (query: ListQuery | object) => ["plans", "list", query] as const,
    /** Not among the lists: what waits for a decision does not move while plans are carried out. */
    waiting: (query: object) => ["plans", "waiting", query] as const,
    one: (id: string) => ["plans", "one", id] as const,
    levels: (id: string) => ["plans", "one", id, "levels"] as const,
    outcome: (id: string) => ["plans", "one", id, "outcome"] as const,
    outcomes: (query: object) => ["plans", "outcomes", query] as const,
    /** Among the lists: it moves with edits of the model and with executions. */
    modelState: (query: object) => ["plans", "list", "model-state", query] as const,
  },
  /** Where changes are opened. What waits and what was exchanged moves by itself. */
  webhooks: {
    all: ["webhooks"] as const,
    list: (query: ListQuery) => ["webhooks", "list", query] as const,
    one: (id: string) => ["webhooks", "one", id] as const,
    deliveries: (id: string, query: ListQuery) => ["webhooks", "deliveries", id, query] as const,
    delivery: (id: string) => ["webhooks", "delivery", id] as const,
    types: ["webhooks", "types"] as const,
  },
  connections: {
    all: ["connections"] as const,
    list: (query: ListQuery) => ["connections", "list", query] as const,
    one: (id: string) => ["connections", "one", id] as const,
    exchanges: (id: string, query: ListQuery) => ["connections", "exchanges", id, query] as const,
    waiting: (id: string, query: ListQuery) => ["connections", "waiting", id, query] as const,
    products: ["connections", "products"] as const,
  },
  /** The change that a plan opened: among the plans, so that it moves with them. */
  planChange: (id: string) => ["plans", "one", id, "change"] as const,
  executions: {
    all: ["executions"] as const,
    one: (id: string) => ["executions", "one", id] as const,
  },
  agents: {
    all: ["agents"] as const,
    list: (system: string) => ["agents", "list", system] as const,
    everywhere: ["agents", "everywhere"] as const,
    /** Whether they have obeyed more than the database knows. */
    restored: (system: string) => ["agents", "restored", system] as const,
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
    losses: (system: string) => ["telemetry", system, "losses"] as const,
    latest: (system: string) => ["telemetry", system, "latest"] as const,
    series: (broker: string, minutes: number, only?: string) =>
      ["telemetry-series", broker, minutes, only] as const,
    /** Not below the system: its news come every second, these cells move slower. */
    levels: (system: string, span: string, brokers: readonly string[]) =>
      ["telemetry-levels", system, span, brokers] as const,
  },
  /** One branch per system: news name the system whose model was measured. */
  calibration: {
    system: (system: string) => ["calibration", system] as const,
    fits: (system: string) => ["calibration", system, "fits"] as const,
    fit: (system: string, id: string) => ["calibration", system, "fit", id] as const,
    state: (system: string) => ["calibration", system, "state"] as const,
    settings: (system: string) => ["calibration", system, "settings"] as const,
  },
  /** What keeps Weir from doing anything by itself. */
  automaticStop: ["automatic-stop"] as const,
  recomputation: {
    all: ["recomputation"] as const,
    schedules: (system: string) => ["recomputation", system, "schedules"] as const,
    triggers: (system: string) => ["recomputation", system, "triggers"] as const,
    firings: (system: string) => ["recomputation", system, "firings"] as const,
    automation: (system: string) => ["recomputation", system, "automation"] as const,
    decisions: (system: string) => ["recomputation", system, "decisions"] as const,
    preview: (query: object) => ["recomputation-preview", query] as const,
    methods: (subject: string) => ["recomputation-methods", subject] as const,
  },
  audit: {
    all: ["audit"] as const,
    list: (query: ListQuery) => ["audit", "list", query] as const,
  },
  users: { all: ["users"] as const, list: (query: ListQuery) => ["users", query] as const },
  tokens: { all: ["tokens"] as const, list: (query: ListQuery) => ["tokens", query] as const },
  overview: ["overview"] as const,
  utilityKinds: ["utility-kinds"] as const,
  preview: (system: string, utility: string, modelVersion: number, draft: object) =>
    ["preview", system, utility, modelVersion, draft] as const,
  optimizers: ["optimizers"] as const,
};
