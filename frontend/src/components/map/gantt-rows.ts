/** Steps against brokers: who takes part in which step, and how. */
import { natural } from "./tree";
import type { Move } from "./timeline";

/** What a broker does in a step: it slides its own link, gives a link up, takes one, comes or goes. */
export type Part = "moves" | "gives" | "takes" | "joins" | "leaves" | "relays";

export type Cell = { step: number; part: Part; title: string };
export type GanttRow = { broker: string; cells: Cell[] };

/** The more telling part first, where a broker has several in one step. */
const RANK: Record<Part, number> = { joins: 0, leaves: 1, moves: 2, takes: 3, gives: 4, relays: 5 };

export function moveTitle({ op, broker, source, to, at }: Move): string {
  if (op === "append") return `Append ${broker} to ${to ?? ""}`;
  if (op === "detach") return `Detach ${broker} from ${source ?? ""}`;
  if (op === "exchange") {
    return `Exchange ${broker} \u2013 ${source ?? ""} for ${at ?? ""} \u2013 ${to ?? ""}`;
  }
  return `${op === "move" ? "Move" : "Shift"} ${broker} from ${source ?? ""} to ${to ?? ""}`;
}

function partsOf(move: Move): [string, Part][] {
  const { op, broker, source, to, at } = move;
  const first: Part = op === "append" ? "joins" : op === "detach" ? "leaves" : "moves";
  return [
    [broker, first] as [string, Part],
    ...(source ? [[source, "gives"] as [string, Part]] : []),
    ...(to ? [[to, "takes"] as [string, Part]] : []),
    ...(at ? [[at, "relays"] as [string, Part]] : []),
  ];
}

/** One row per broker that takes part, in the order in which they are first needed. */
export function ganttRows(steps: readonly (readonly Move[])[]): GanttRow[] {
  const rows = new Map<string, Map<number, Cell>>();
  steps.forEach((moves, step) => {
    for (const move of moves) {
      const title = moveTitle(move);
      for (const [broker, part] of partsOf(move)) {
        const row = rows.get(broker) ?? new Map<number, Cell>();
        const known = row.get(step);
        if (known) {
          known.title += `; ${title}`;
          if (RANK[part] < RANK[known.part]) known.part = part;
        } else row.set(step, { step, part, title });
        rows.set(broker, row);
      }
    }
  });
  return [...rows]
    .map(([broker, cells]) => ({ broker, cells: [...cells.values()] }))
    .sort(
      (a, b) => (a.cells[0]?.step ?? 0) - (b.cells[0]?.step ?? 0) || natural(a.broker, b.broker),
    );
}

/** The broker that the most steps need: no plan of these actions is shorter than that. */
export const busiest = (rows: readonly GanttRow[]): GanttRow | undefined =>
  rows.reduce<GanttRow | undefined>(
    (most, row) => (row.cells.length > (most?.cells.length ?? 0) ? row : most),
    undefined,
  );
