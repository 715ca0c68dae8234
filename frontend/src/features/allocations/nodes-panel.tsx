/** Load of nodes against capacity, with the price of each resource in words. */
import { useState } from "react";

import { scarcest } from "./outcome";

import type { ResourceLoad } from "@/api/allocations";
import { BrokerTanks } from "@/components/ui/broker-tank";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Segments } from "@/components/ui/page";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Empty, Panel } from "@/components/ui/panel";
import { PriceTag } from "@/components/ui/price-tag";
import { Badge } from "@/components/ui/state-badge";
import { AT_CREST, isOver, NEAR_CREST } from "@/lib/load";
import { fixed, percentText, priceDecimals, signed } from "@/lib/numbers";

const MOST_TANKS = 12;
const FIRST = 20;

export const fractionOf = (load: ResourceLoad) =>
  load.capacity > 0 ? load.load / load.capacity : 0;
const keyOf = (load: ResourceLoad) => (load.resource ? `${load.name}.${load.resource}` : load.name);
const order = (a: ResourceLoad, b: ResourceLoad) =>
  a.name.localeCompare(b.name, "en", { numeric: true });

function CrestBadge({ loads }: { loads: readonly ResourceLoad[] }) {
  const over = loads.filter((load) => isOver(fractionOf(load))).length;
  const full = loads.filter((load) => fractionOf(load) >= AT_CREST).length;
  const near = loads.filter((load) => fractionOf(load) > NEAR_CREST).length;
  if (over > 0) {
    return (
      <Badge tone="bad" icon="alert">
        {over} of {loads.length} over
      </Badge>
    );
  }
  if (full > 0) {
    return (
      <Badge tone="idle" icon="crest">
        {full} of {loads.length} at the crest
      </Badge>
    );
  }
  return near > 0 ? (
    <Badge tone="idle" icon="crest">
      {near} of {loads.length} nearly full
    </Badge>
  ) : (
    <Badge tone="good" icon="check">
      Room left
    </Badge>
  );
}

export function NodesPanel({
  loads,
  formerPrices,
  formerCapacities,
}: {
  loads: readonly ResourceLoad[];
  formerPrices: ReadonlyMap<string, number | null>;
  formerCapacities: ReadonlyMap<string, number | null>;
}) {
  const nodes = loads.filter((load) => load.place === "node");
  const resources = [...new Set(nodes.map((load) => load.resource ?? ""))];
  const [chosen, setChosen] = useState<string | null>(null);
  const [picked, setPicked] = useState<string | null>(null);
  const resource = chosen ?? resources[0] ?? "";
  const rows = nodes.filter((load) => load.resource === resource).sort(order);
  const paged = usePaged(rows, FIRST, resource);
  const decimals = priceDecimals(rows.map((row) => row.price));
  const compared = formerPrices.size > 0;
  // The former capacity drawn on today's vessel, where it was another one.
  const previous = (row: ResourceLoad) => {
    const before = formerCapacities.get(keyOf(row));
    return before !== undefined && before !== null && before !== row.capacity && row.capacity > 0
      ? before / row.capacity
      : null;
  };
  const moved = rows.find((row) => previous(row) !== null);
  const most = scarcest(rows)?.load;
  // The scarcest unless one asks about another: what one more unit there is worth.
  const asked = rows.find((row) => row.name === picked) ?? most;
  const columns: Column<ResourceLoad>[] = [
    { key: "name", title: "Node", cell: (row) => <span className="ent">{row.name}</span> },
    ...(rows.length > MOST_TANKS
      ? [
          {
            key: "load",
            title: "Load",
            number: true,
            cell: (row: ResourceLoad) => percentText(fractionOf(row), 1),
          },
        ]
      : []),
    {
      key: "capacity",
      title: "Capacity",
      unit: "unit/s",
      number: true,
      cell: (row) => fixed(row.capacity),
    },
    {
      key: "price",
      title: "Price",
      unit: "utility/unit",
      number: true,
      strong: true,
      cell: (row) => fixed(row.price, decimals),
    },
    ...(compared
      ? [
          {
            key: "change",
            title: "Change",
            number: true,
            cell: (row: ResourceLoad) => {
              const before = formerPrices.get(keyOf(row));
              return signed(
                before === undefined || before === null ? null : row.price - before,
                decimals,
              );
            },
          },
        ]
      : []),
  ];
  return (
    <Panel
      title="Node load and price"
      sub={resources.length > 1 ? undefined : resource}
      right={
        <>
          {resources.length > 1 ? (
            <Segments
              label="Resource"
              value={resource}
              options={resources.map((value) => ({ value, label: value }))}
              onChange={setChosen}
            />
          ) : null}
          {rows.length > 0 ? <CrestBadge loads={rows} /> : null}
        </>
      }
      flush
      footer={
        rows.length > 0 ? (
          <>
            {asked ? (
              <>
                <PriceTag price={asked.price} resource={asked.resource ?? ""} place={asked.name} />
                {moved ? (
                  <>
                    {" "}
                    The dashed line is {moved.name}&rsquo;s capacity before,{" "}
                    {fixed(formerCapacities.get(keyOf(moved)))}.
                  </>
                ) : null}
              </>
            ) : rows.some((row) => fractionOf(row) >= AT_CREST) ? (
              "Every price is 0 although a node is full: this method gives no prices."
            ) : (
              "No node is short of this resource: its price is 0 everywhere."
            )}
            <PageFoot paged={paged} what="nodes" />
          </>
        ) : undefined
      }
    >
      {rows.length === 0 ? (
        <Empty>The problem has no nodes with a capacity.</Empty>
      ) : (
        <>
          {rows.length <= MOST_TANKS ? (
            <div className="body" style={{ paddingBottom: 6 }}>
              <BrokerTanks
                tanks={rows.map((row) => ({
                  name: row.name,
                  fraction: fractionOf(row),
                  previous: previous(row),
                }))}
              />
            </div>
          ) : null}
          <DataTable
            label="Node load and price"
            columns={columns}
            rows={paged.visible}
            rowKey={keyOf}
            selected={picked === null || !asked ? null : keyOf(asked)}
            onSelect={(row) => setPicked(row.name)}
          />
        </>
      )}
    </Panel>
  );
}
