/** Load of links against capacity, with the price of each. */
import { useState } from "react";

import { fractionOf } from "./nodes-panel";

import type { ResourceLoad } from "@/api/allocations";
import { LoadBar } from "@/components/ui/bars";
import { DataTable, type Column } from "@/components/ui/data-table";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Panel } from "@/components/ui/panel";
import { countText, fixed, percentText, priceDecimals, priceText, signed } from "@/lib/numbers";

const FIRST = 12;

export function LinksPanel({
  loads,
  formerPrices,
}: {
  loads: readonly ResourceLoad[];
  formerPrices: ReadonlyMap<string, number | null>;
}) {
  const links = loads
    .filter((load) => load.place === "link")
    .sort(
      (a, b) =>
        b.price - a.price ||
        fractionOf(b) - fractionOf(a) ||
        a.name.localeCompare(b.name, "en", { numeric: true }),
    );
  const [picked, setPicked] = useState<string | null>(null);
  const paged = usePaged(links, FIRST, "links");
  if (links.length === 0) return null;
  const shown = paged.visible;
  const decimals = priceDecimals(links.map((link) => link.price));
  const asked = links.find((link) => link.name === picked) ?? links[0];
  const isPriced = asked !== undefined && priceText(asked.price) !== "0";
  const columns: Column<ResourceLoad>[] = [
    { key: "name", title: "Link", cell: (row) => <span className="ent">{row.name}</span> },
    { key: "bar", title: "", cell: (row) => <LoadBar fraction={fractionOf(row)} width={72} /> },
    {
      key: "load",
      title: "Load",
      number: true,
      strong: true,
      cell: (row) => percentText(fractionOf(row)),
    },
    {
      key: "price",
      title: "Price",
      number: true,
      cell: (row) => (priceText(row.price) === "0" ? "0" : fixed(row.price, decimals)),
    },
    ...(formerPrices.size > 0
      ? [
          {
            key: "change",
            title: "Change",
            number: true,
            cell: (row: ResourceLoad) => {
              const before = formerPrices.get(row.name) ?? null;
              return signed(before === null ? null : row.price - before, decimals);
            },
          },
        ]
      : []),
  ];
  return (
    <Panel
      title="Link load and price"
      sub={`${countText(links.length, "link")}, dearest first`}
      flush
      footer={
        <>
          {asked && isPriced ? (
            <>
              One more unit/s of <b>{asked.name}</b> is worth {priceText(asked.price)} utility.
            </>
          ) : asked && picked !== null ? (
            <>
              One more unit/s of <b>{asked.name}</b> is worth nothing now: capacity is left.
            </>
          ) : (
            "No link is short: every price is 0."
          )}{" "}
          <PageFoot paged={paged} what="links" />
        </>
      }
    >
      <DataTable
        label="Link load and price"
        rows={shown}
        rowKey={(row) => row.name}
        columns={columns}
        selected={picked}
        onSelect={(row) => setPicked(row.name)}
      />
    </Panel>
  );
}
