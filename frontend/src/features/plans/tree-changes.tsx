/** Links and brokers before and after a plan that moves links. */
import { memo, useMemo } from "react";

import type { PlanTree } from "./use-tree";

import type { CatalogTypes } from "@/api/catalog";
import { ganttRows } from "@/components/map/gantt-rows";
import { journeysOf, linkName, stepsText, type Journey } from "@/components/map/journeys";
import { edgeKey, type Edge } from "@/components/map/timeline";
import { LoadBar } from "@/components/ui/bars";
import { DataTable, type Column } from "@/components/ui/data-table";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Panel } from "@/components/ui/panel";
import { Delta } from "@/components/ui/unit-number";
import { countText, fixed, percentText, rateText, UNKNOWN } from "@/lib/numbers";

type LinkRow = Journey & { carries: number | null; was: number | null; will: number | null };
type BrokerRow = {
  broker: string;
  was: number;
  will: number;
  handles: number;
  steps: number[];
};

const FIRST = 10;
/** A change of the level by less than half a point shows as none. */
const SAME = 0.005;
const MS = 1000;

function useLatencies(tree: PlanTree, links: readonly CatalogTypes["links"][]) {
  return useMemo(() => {
    const found = new Map<string, number>();
    for (const { source_name: a, target_name: b, latency_s } of links) {
      if (typeof latency_s === "number") found.set(edgeKey({ a, b }), latency_s);
    }
    for (const row of tree.traffic?.links ?? []) {
      if (row.latency_s !== null) found.set(edgeKey(row), row.latency_s);
    }
    for (const row of tree.candidate?.links ?? []) found.set(edgeKey(row), row.latency_s);
    return found;
  }, [tree.traffic, tree.candidate, links]);
}

function useRows(tree: PlanTree, links: readonly CatalogTypes["links"][]) {
  const latencies = useLatencies(tree, links);
  return useMemo(() => {
    const carries = new Map(
      (tree.candidate?.links ?? []).map((r) => [edgeKey(r), r.traffic_per_s]),
    );
    const of = (edge: Edge | null, from: ReadonlyMap<string, number>) =>
      edge === null ? null : (from.get(edgeKey(edge)) ?? null);
    const moved = journeysOf(tree.timeline).map((journey): LinkRow => ({
      ...journey,
      carries: of(journey.after, carries),
      was: of(journey.before, latencies),
      will: of(journey.after, latencies),
    }));
    const parts = new Map(ganttRows(tree.timeline.steps).map((row) => [row.broker, row.cells]));
    const brokers = (tree.candidate?.brokers ?? [])
      .flatMap((row): BrokerRow[] => {
        const { broker, now_per_s, then_per_s, capacity_per_s: most } = row;
        if (most === null || most <= 0) return [];
        const steps = (parts.get(broker) ?? []).map((cell) => cell.step);
        return [
          { broker, was: now_per_s / most, will: then_per_s / most, handles: then_per_s, steps },
        ];
      })
      .sort((a, b) => Math.abs(b.will - b.was) - Math.abs(a.will - a.was));
    return { moved, brokers };
  }, [tree, latencies]);
}

const LINKS: Column<LinkRow>[] = [
  { key: "mover", title: "Moves", cell: (row) => <span className="ent">{row.mover}</span> },
  {
    key: "before",
    title: "Link before",
    cell: ({ before }) =>
      before === null ? (
        <span className="faint">not in the overlay</span>
      ) : (
        <>
          <span className="tag before">{"\u2212"}</span> {linkName(before)}
        </>
      ),
  },
  {
    key: "after",
    title: "Link after",
    cell: ({ after }) =>
      after === null ? (
        <span className="faint">taken out</span>
      ) : (
        <>
          <span className="tag after">+</span> {linkName(after)}
        </>
      ),
  },
  {
    key: "carries",
    title: "Carries",
    unit: "msg/s",
    number: true,
    cell: (row) => rateText(row.carries),
  },
  {
    key: "was",
    title: "Before",
    unit: "ms",
    number: true,
    cell: (row) => (
      <span className="faint">{fixed(row.was === null ? null : row.was * MS, 1)}</span>
    ),
  },
  {
    key: "will",
    title: "After",
    unit: "ms",
    number: true,
    strong: true,
    cell: (row) => fixed(row.will === null ? null : row.will * MS, 1),
  },
  {
    key: "change",
    title: "Change",
    number: true,
    cell: ({ was, will }) =>
      was === null || will === null ? (
        UNKNOWN
      ) : (
        <Delta value={(will - was) * MS} decimals={1} better="down" />
      ),
  },
  { key: "steps", title: "In step", number: true, cell: (row) => stepsText(row.steps) },
];

const BROKERS: Column<BrokerRow>[] = [
  { key: "broker", title: "Broker", cell: (row) => <span className="ent">{row.broker}</span> },
  {
    key: "wasbar",
    title: "Load before",
    cell: (row) => <LoadBar fraction={row.was} width={110} />,
  },
  {
    key: "willbar",
    title: "Load after",
    cell: (row) => <LoadBar fraction={row.will} width={110} />,
  },
  {
    key: "handles",
    title: "Handles",
    unit: "msg/s",
    number: true,
    cell: (row) => rateText(row.handles),
  },
  {
    key: "was",
    title: "Before",
    number: true,
    cell: (row) => <span className="faint">{percentText(row.was)}</span>,
  },
  { key: "will", title: "After", number: true, strong: true, cell: (row) => percentText(row.will) },
  {
    key: "change",
    title: "Change",
    number: true,
    cell: (row) => <Delta value={(row.will - row.was) * 100} better="down" unit="pt" />,
  },
  { key: "steps", title: "In step", number: true, cell: (row) => stepsText(row.steps) },
];

export const TreeChanges = memo(function TreeChanges({
  tree,
  links,
}: {
  tree: PlanTree;
  links: readonly CatalogTypes["links"][];
}) {
  const { moved, brokers } = useRows(tree, links);
  const changed = brokers.filter(({ was, will }) => Math.abs(will - was) >= SAME);
  const kept = brokers.length - changed.length;
  const linkPage = usePaged(moved, FIRST, "links");
  const brokerPage = usePaged(changed, FIRST, "brokers");
  return (
    <Panel
      title="Before and after"
      sub="what is in force against what the plan leaves behind"
      flush
      footer={
        kept > 0
          ? `${countText(kept, "broker keeps", "brokers keep")} the load that ${kept === 1 ? "it has" : "they have"}.`
          : undefined
      }
    >
      <DataTable
        label="Links before and after"
        columns={LINKS}
        rows={linkPage.visible}
        rowKey={(row) => row.key}
      />
      <div className="tabfoot">
        <PageFoot paged={linkPage} what="links" />
      </div>
      {changed.length > 0 ? (
        <>
          <DataTable
            label="Brokers before and after"
            columns={BROKERS}
            rows={brokerPage.visible}
            rowKey={(row) => row.broker}
          />
          <div className="tabfoot">
            <PageFoot paged={brokerPage} what="brokers" />
          </div>
        </>
      ) : null}
    </Panel>
  );
});
