/** The selected broker: how full it is, what it is worth, whom it serves; and the busiest links. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import type { BrokerNode, LinkEdge } from "./graph";

import { populationsQuery, ratesQuery } from "@/api/allocations";
import { LoadBar } from "@/components/ui/bars";
import { DataTable } from "@/components/ui/data-table";
import { Panel } from "@/components/ui/panel";
import { PriceTag } from "@/components/ui/price-tag";
import { LoadBadge } from "@/components/ui/state-badge";
import { to } from "@/lib/kinds";
import { loadState } from "@/lib/load";
import {
  countText,
  durationText,
  fixed,
  percentText,
  priceText,
  rateText,
  UNKNOWN,
} from "@/lib/numbers";

export function BrokerPanel({
  system,
  node,
  allocation,
}: {
  system: string;
  node: BrokerNode;
  allocation: string | null;
}) {
  const { broker, fraction, load, capacity, price, traffic } = node;
  const resource = node.resource ?? "";
  const enabled = { enabled: allocation !== null };
  const classes = useQuery({ ...populationsQuery(allocation ?? ""), ...enabled });
  const rates = useQuery({ ...ratesQuery(allocation ?? ""), ...enabled });
  const here = (classes.data?.rows ?? []).filter((row) => row.node === broker.name);
  const flows = (rates.data?.rows ?? []).filter((row) => row.nodes.includes(broker.name));
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const admitted = sum(here.map((row) => row.admitted));
  const wanted = sum(here.map((row) => row.wanted));
  const rateOf = new Map(flows.map((row) => [row.flow, row.rate_per_s]));
  const delivered = sum(here.map((row) => row.admitted * (rateOf.get(row.flow) ?? 0)));
  return (
    <Panel
      title={
        <>
          {broker.name} {fraction === null ? null : <LoadBadge state={loadState(fraction)} />}
        </>
      }
      right={<Link to={to.object(system, "brokers", broker.id)}>Open broker</Link>}
    >
      <p style={{ display: "flex", alignItems: "baseline", gap: 8, marginBottom: 8 }}>
        <b style={{ fontSize: 20, lineHeight: "28px", fontWeight: 600 }}>
          {percentText(fraction, 1)}
        </b>
        <span className="muted">
          {load === null
            ? "not computed yet"
            : `${fixed(load)} of ${fixed(capacity)} ${resource === "msg" ? "msg/s" : `${resource} unit/s`}`}
        </span>
      </p>
      {fraction === null ? null : <LoadBar fraction={fraction} width={340} />}
      <dl className="kv" style={{ marginTop: 12 }}>
        {broker.region ? (
          <>
            <dt>Region</dt>
            <dd>{broker.region}</dd>
          </>
        ) : null}
        {broker.capacities.map((entry) => (
          <div key={entry.resource} style={{ display: "contents" }}>
            <dt>Capacity, {entry.resource}</dt>
            <dd>
              {fixed(entry.capacity)}
              <span className="u">unit/s</span>
            </dd>
          </div>
        ))}
        {traffic ? <TrafficRows traffic={traffic} /> : null}
        {allocation === null || traffic ? null : (
          <>
            <dt>Flows through it</dt>
            <dd>{rates.data ? fixed(flows.length) : UNKNOWN}</dd>
            <dt>Receives</dt>
            <dd>
              {rateText(sum(flows.map((row) => row.rate_per_s)))}
              <span className="u">msg/s</span>
            </dd>
            <dt>Delivers to its consumers</dt>
            <dd>
              {fixed(delivered)}
              <span className="u">msg/s</span>
            </dd>
            <dt>Consumers admitted</dt>
            <dd>
              {fixed(admitted)}
              <span className="u">of {fixed(wanted)}</span>
            </dd>
            <dt>Price</dt>
            <dd>
              {priceText(price)}
              <span className="u">utility per {resource} unit</span>
            </dd>
          </>
        )}
        <dt>Links</dt>
        <dd>{fixed(node.links)}</dd>
      </dl>
      {price !== null && fraction !== null ? (
        <p className="note" style={{ marginTop: 12 }}>
          <span>
            <PriceTag price={price} resource={resource} place={broker.name} />
          </span>
        </p>
      ) : null}
    </Panel>
  );
}

/** Where its messages come from and go to; what it only passes on is what a better tree saves. */
function TrafficRows({ traffic }: { traffic: NonNullable<BrokerNode["traffic"]> }) {
  const { relayed_per_s: relayed, handled_per_s: handled } = traffic;
  const row = (label: string, rate: number, note = "") => (
    <>
      <dt>{label}</dt>
      <dd>
        {rateText(rate)}
        <span className="u">msg/s{note}</span>
      </dd>
    </>
  );
  return (
    <>
      {row(
        "Relays for other brokers",
        relayed,
        handled > 0 ? `, ${percentText(relayed / handled)}` : "",
      )}
      {row("Receives for its own clients", traffic.received_per_s)}
      {row("Delivers to them", traffic.delivered_per_s)}
      {row("Publishes", traffic.published_per_s)}
    </>
  );
}

const SHOWN = 5;

export function BusiestLinks({ system, edges }: { system: string; edges: readonly LinkEdge[] }) {
  return (
    <Panel
      title="Busiest links"
      sub={`of ${countText(edges.filter((edge) => edge.inOverlay).length, "link")}`}
      flush
    >
      <DataTable
        label="Busiest links"
        rows={edges.filter((edge) => edge.inOverlay).slice(0, SHOWN)}
        rowKey={(edge) => edge.link.id}
        columns={[
          {
            key: "name",
            title: "Link",
            cell: ({ link }) => (
              <Link className="ent" to={to.object(system, "links", link.id)}>
                {link.source_name} – {link.target_name}
              </Link>
            ),
          },
          {
            key: "bar",
            title: "",
            cell: ({ fraction }) =>
              fraction === null ? null : <LoadBar fraction={fraction} width={84} />,
          },
          {
            key: "load",
            title: "Load",
            number: true,
            strong: true,
            cell: ({ fraction, load }) =>
              fraction === null ? `${rateText(load)} msg/s` : percentText(fraction),
          },
          {
            key: "latency",
            title: "Latency",
            number: true,
            cell: ({ link, traffic }) => {
              const shown = durationText(link.latency_s ?? traffic?.latency_s);
              return (
                <>
                  {shown.text}
                  {shown.unit ? <span className="u">{shown.unit}</span> : null}
                </>
              );
            },
          },
        ]}
      />
    </Panel>
  );
}
