/** Every link over the whole of a plan: when it stands, what it is at each stop, who carries it. */
export type Edge = { a: string; b: string };

/** One action on the tree: `weir.model.transformation.Move`. */
export type Move = {
  op: string;
  broker: string;
  source?: string | null;
  to?: string | null;
  at?: string | null;
};

export type EdgePhase = "stays" | "leaves" | "moving" | "goal" | "placed";
export type DrawnEdge = Edge & { key: string; phase: EdgePhase };

export const edgeKey = ({ a, b }: Edge) => (a < b ? `${a}\n${b}` : `${b}\n${a}`);

/** What an action takes from the tree and what it adds. */
export function changeOf(move: Move): { gone: Edge | null; come: Edge | null } {
  const { op, broker, source, to, at } = move;
  const gone = source && op !== "append" ? { a: broker, b: source } : null;
  const from = op === "exchange" ? at : broker;
  const come = to && from && op !== "detach" ? { a: from, b: to } : null;
  return { gone, come };
}

/** A link that stands from one stop until another, both included. */
type Span = {
  from: number;
  until: number;
  /** The broker that brought this link here by an action of its own; null at the start. */
  by: string | null;
  /** The other end at that moment. */
  onto: string | null;
};

type TimedLink = Edge & { key: string; spans: Span[]; inStart: boolean; inGoal: boolean };

/** Links hitched to one broker that carries them along while its own link slides. */
export type Convoy = { mover: string; keys: string[]; from: number; until: number };

export type Timeline = {
  /** Stops: now and after every step. */
  stops: number;
  steps: readonly (readonly Move[])[];
  links: readonly TimedLink[];
  convoys: readonly Convoy[];
};

/** Links by their ends; an open span lasts for ever. */
function linksOf(start: readonly Edge[], steps: Timeline["steps"]): Map<string, TimedLink> {
  const links = new Map<string, TimedLink>();
  const open = (edge: Edge, span: Span) => {
    const key = edgeKey(edge);
    const link = links.get(key) ?? { ...edge, key, spans: [], inStart: false, inGoal: false };
    link.spans.push(span);
    links.set(key, link);
    return link;
  };
  for (const edge of start) {
    open(edge, { from: 0, until: Infinity, by: null, onto: null }).inStart = true;
  }
  steps.forEach((moves, index) => {
    for (const move of moves) {
      const { gone, come } = changeOf(move);
      const left = gone ? links.get(edgeKey(gone))?.spans.at(-1) : undefined;
      if (left?.until === Infinity) left.until = index;
      if (come) {
        open(come, { from: index + 1, until: Infinity, by: move.broker, onto: move.to ?? null });
      }
    }
  });
  for (const link of links.values()) link.inGoal = link.spans.at(-1)?.until === Infinity;
  return links;
}

/**
 * A link hitched onto a broker (a shift made it, neither tree has it) is carried when that broker
 * slides a link of its own before the hitched one is taken off again.
 */
function convoysOf(links: Iterable<TimedLink>, steps: Timeline["steps"]): Convoy[] {
  const slides = new Map<string, number[]>();
  steps.forEach((moves, index) => {
    for (const move of moves) {
      if (move.op !== "shift" && move.op !== "move") continue;
      const list = slides.get(move.broker) ?? [];
      list.push(index);
      slides.set(move.broker, list);
    }
  });
  const found = new Map<string, Convoy[]>();
  for (const link of links) {
    if (link.inStart || link.inGoal) continue;
    for (const { from, until, by, onto } of link.spans) {
      if (by === null || onto === null || until < from) continue;
      // The step before stop `from` made it, the one after stop `until` takes it.
      const carried = slides.get(onto)?.some((step) => step >= from && step < until) ?? false;
      if (!carried) continue;
      const mine = found.get(onto) ?? [];
      const joined = mine.find((convoy) => from <= convoy.until && until >= convoy.from);
      if (joined) {
        if (!joined.keys.includes(link.key)) joined.keys.push(link.key);
        joined.from = Math.min(joined.from, from);
        joined.until = Math.max(joined.until, until);
      } else mine.push({ mover: onto, keys: [link.key], from, until });
      found.set(onto, mine);
    }
  }
  return [...found.values()].flat().sort((a, b) => a.from - b.from);
}

export function timelineOf(start: readonly Edge[], steps: Timeline["steps"]): Timeline {
  const links = [...linksOf(start, steps).values()];
  return { stops: steps.length + 1, steps, links, convoys: convoysOf(links, steps) };
}

const stands = (link: TimedLink, stop: number) =>
  link.spans.some(({ from, until }) => from <= stop && stop <= until);

const phaseOf = ({ inStart, inGoal }: TimedLink): EdgePhase =>
  inStart ? (inGoal ? "stays" : "leaves") : inGoal ? "placed" : "moving";

/** The tree at a stop, and what of the goal is still to come. */
export function edgesAt(timeline: Timeline, stop: number): DrawnEdge[] {
  return timeline.links.flatMap((link): DrawnEdge[] => {
    const { a, b, key } = link;
    if (stands(link, stop)) return [{ a, b, key, phase: phaseOf(link) }];
    return link.inGoal ? [{ a, b, key, phase: "goal" }] : [];
  });
}

export type ConvoyAt = { mover: string; keys: string[] };

/** Convoys under way at a stop, each with the links hitched to it just then. */
export function convoysAt(timeline: Timeline, stop: number): ConvoyAt[] {
  const here = timeline.convoys.filter(({ from, until }) => from <= stop && stop <= until);
  if (here.length === 0) return [];
  const standing = new Set(
    timeline.links.filter((link) => stands(link, stop)).map((link) => link.key),
  );
  return here.flatMap(({ mover, keys }) => {
    const now = keys.filter((key) => standing.has(key));
    return now.length > 0 ? [{ mover, keys: now }] : [];
  });
}

/** Actions of the step that follows a stop; none after the last. */
export const nextMoves = (timeline: Timeline, stop: number): readonly Move[] =>
  timeline.steps[stop] ?? [];

/** The tree before the first step, when `done` steps of the plan are in the tree of now. */
export function startOf(inForce: readonly Edge[], steps: Timeline["steps"], done: number): Edge[] {
  const tree = new Map(inForce.map((edge) => [edgeKey(edge), edge]));
  for (const moves of steps.slice(0, done).reverse()) {
    for (const move of [...moves].reverse()) {
      const { gone, come } = changeOf(move);
      if (come) tree.delete(edgeKey(come));
      if (gone) tree.set(edgeKey(gone), gone);
    }
  }
  return [...tree.values()];
}

const WORDS: Record<EdgePhase, string> = {
  stays: "stay",
  leaves: "will leave",
  moving: "on their way",
  goal: "still to come",
  placed: "in place",
};

/** "8 links stay, 4 will leave": what a reader who sees no picture is told at a stop. */
export function wordsAt(timeline: Timeline, stop: number): string {
  const counts = new Map<EdgePhase, number>();
  for (const { phase } of edgesAt(timeline, stop)) {
    counts.set(phase, (counts.get(phase) ?? 0) + 1);
  }
  const parts = (["stays", "leaves", "moving", "placed", "goal"] as const).flatMap((phase) => {
    const count = counts.get(phase) ?? 0;
    return count > 0 ? [`${count} ${WORDS[phase]}`] : [];
  });
  const convoys = convoysAt(timeline, stop);
  const carried = convoys.map(({ mover, keys }) => `${mover} carries ${keys.length}`);
  return ["Links: " + parts.join(", "), ...carried].join("; ");
}
