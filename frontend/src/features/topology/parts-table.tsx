/** Brokers and links with the numbers of the map. */
import { useState } from "react";
import { Link } from "react-router";

import type { BrokerNode, Graph, LinkEdge } from "./graph";

import { LoadBar } from "@/components/ui/bars";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
import { FindField, PageFoot, PAGE_ROWS, usePaged } from "@/components/ui/paged";
import { Segments } from "@/components/ui/page";
import { Empty, Panel } from "@/components/ui/panel";
import { LoadBadge } from "@/components/ui/state-badge";
import { download, toCsv } from "@/lib/csv";
import { to } from "@/lib/kinds";
import { loadState } from "@/lib/load";
import { fixed, percentText, priceDecimals, rateText, UNKNOWN } from "@/lib/numbers";

const state = (fraction: number | null) =>
  fraction === null ? (
    <span className="faint">not computed</span>
  ) : (
    <LoadBadge state={loadState(fraction)} />
  );

/** Loads by the model are in the unit of the resource that is fullest. */
const unitOf = ({ resource }: BrokerNode) =>
  resource === "msg" ? "msg/s" : `${resource ?? ""} unit/s`;

const bar = (fraction: number | null) =>
  fraction === null ? null : <LoadBar fraction={fraction} />;

export function PartsTable({
  system,
  systemName,
  graph,
  selected,
  onSelect,
}: {
  system: string;
  systemName: string;
  graph: Graph;
  selected: string | null;
  onSelect: (broker: string) => void;
}) {
  const [part, setPart] = useState<"brokers" | "links">("brokers");
  const [search, setSearch] = useState("");
  const wanted = search.toLowerCase();
  const nodes = graph.nodes.filter((node) => node.broker.name.toLowerCase().includes(wanted));
  const edges = graph.edges.filter((edge) =>
    `${edge.link.name} ${edge.link.source_name} ${edge.link.target_name}`
      .toLowerCase()
      .includes(wanted),
  );
  const nodePage = usePaged(nodes, PAGE_ROWS, wanted);
  const edgePage = usePaged(edges, PAGE_ROWS, wanted);
  const travels = graph.nodes.some((node) => node.traffic !== null);
  const priced = graph.nodes.some((node) => node.price !== null);
  const prices = priceDecimals(graph.nodes.map((node) => node.price));
  const linkPrices = priceDecimals(graph.edges.map((edge) => edge.price));
  const brokerColumns: Column<BrokerNode>[] = [
    {
      key: "name",
      title: "Broker",
      cell: (node) => (
        <Link className="ent" to={to.object(system, "brokers", node.broker.id)}>
          {node.broker.name}
        </Link>
      ),
    },
    { key: "region", title: "Region", cell: (node) => node.broker.region || UNKNOWN },
    { key: "state", title: "State", cell: (node) => state(node.fraction) },
    { key: "bar", title: "Load, crest at 100 %", cell: (node) => bar(node.fraction) },
    {
      key: "fraction",
      title: "of capacity",
      number: true,
      strong: true,
      cell: (node) => percentText(node.fraction),
    },
    {
      key: "load",
      title: "Load",
      number: true,
      cell: (node) => (
        <>
          {fixed(node.load)}
          {node.load === null ? null : <span className="u">{unitOf(node)}</span>}
        </>
      ),
    },
    {
      key: "capacity",
      title: "Capacity",
      number: true,
      cell: (node) => (
        <span className="faint">
          {fixed(node.capacity)}
          {node.capacity === null ? null : <span className="u">{unitOf(node)}</span>}
        </span>
      ),
    },
    ...(travels
      ? [
          {
            key: "relayed",
            title: "Relays",
            unit: "msg/s",
            number: true,
            cell: (node: BrokerNode) => rateText(node.traffic?.relayed_per_s),
          },
        ]
      : []),
    ...(priced
      ? [
          {
            key: "price",
            title: "Price",
            unit: "utility/unit",
            number: true,
            cell: (node: BrokerNode) => fixed(node.price, prices),
          },
        ]
      : []),
    { key: "links", title: "Links", number: true, cell: (node) => fixed(node.links) },
  ];
  const linkColumns: Column<LinkEdge>[] = [
    {
      key: "name",
      title: "Link",
      cell: (edge) => (
        <Link className="ent" to={to.object(system, "links", edge.link.id)}>
          {edge.link.name}
        </Link>
      ),
    },
    {
      key: "ends",
      title: "Between",
      cell: (edge) => `${edge.link.source_name} – ${edge.link.target_name}`,
    },
    { key: "state", title: "State", cell: (edge) => state(edge.fraction) },
    { key: "bar", title: "Load, crest at 100 %", cell: (edge) => bar(edge.fraction) },
    {
      key: "fraction",
      title: "of capacity",
      number: true,
      strong: true,
      cell: (edge) => percentText(edge.fraction),
    },
    {
      key: "load",
      title: "Traffic",
      unit: "msg/s",
      number: true,
      cell: (edge) => rateText(edge.load),
    },
    {
      key: "capacity",
      title: "Capacity",
      unit: "unit/s",
      number: true,
      cell: (edge) => <span className="faint">{fixed(edge.link.capacity)}</span>,
    },
    {
      key: "price",
      title: "Price",
      unit: "utility/unit",
      number: true,
      cell: (edge) => fixed(edge.price, linkPrices),
    },
    { key: "overlay", title: "In overlay", cell: (edge) => (edge.inOverlay ? "yes" : "no") },
  ];
  const save = () =>
    part === "brokers"
      ? download(
          `${systemName} brokers.csv`,
          toCsv(
            ["broker", "region", "resource", "load", "capacity", "price"],
            nodes.map((node) => [
              node.broker.name,
              node.broker.region,
              node.resource,
              node.load,
              node.capacity,
              node.price,
            ]),
          ),
        )
      : download(
          `${systemName} links.csv`,
          toCsv(
            ["link", "source", "target", "load", "capacity", "price"],
            edges.map((edge) => [
              edge.link.name,
              edge.link.source_name,
              edge.link.target_name,
              edge.load,
              edge.link.capacity,
              edge.price,
            ]),
          ),
        );
  return (
    <Panel
      title={part === "brokers" ? "Brokers" : "Links"}
      sub={`${fixed(part === "brokers" ? nodes.length : edges.length)}, highest load first`}
      right={
        <>
          <Segments
            label="Table of"
            value={part}
            onChange={setPart}
            options={[
              { value: "brokers", label: `Brokers ${fixed(graph.nodes.length)}` },
              { value: "links", label: `Links ${fixed(graph.edges.length)}` },
            ]}
          />
          <button type="button" className="btn sm" onClick={save}>
            <Icon name="download" small />
            CSV
          </button>
        </>
      }
      flush
    >
      <div className="tools">
        <FindField
          label={part === "brokers" ? "Filter brokers" : "Filter links"}
          value={search}
          onChange={setSearch}
        />
      </div>
      {(part === "brokers" ? nodes : edges).length === 0 ? (
        <Empty>Nothing of that name.</Empty>
      ) : part === "brokers" ? (
        <DataTable
          label="Brokers"
          columns={brokerColumns}
          rows={nodePage.visible}
          rowKey={(node) => node.broker.name}
          selected={selected}
          onSelect={(node) => onSelect(node.broker.name)}
        />
      ) : (
        <DataTable
          label="Links"
          columns={linkColumns}
          rows={edgePage.visible}
          rowKey={(edge) => edge.link.id}
        />
      )}
      <div className="tabfoot">
        {part === "brokers" ? (
          <PageFoot paged={nodePage} what="brokers" />
        ) : (
          <PageFoot paged={edgePage} what="links" />
        )}
      </div>
    </Panel>
  );
}
