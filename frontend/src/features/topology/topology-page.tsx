/** The map of a system, the selected broker, the busiest links, and both as tables. */
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { Link, useParams } from "react-router";

import { BrokerPanel, BusiestLinks } from "./broker-panel";
import { makeGraph } from "./graph";
import { PartsTable } from "./parts-table";

import { allocationsQuery, loadsQuery } from "@/api/allocations";
import { catalogAll } from "@/api/catalog";
import { keys } from "@/api/query-keys";
import { useSystem } from "@/api/systems";
import { LoadLegend } from "@/components/ui/bars";
import { Icon } from "@/components/ui/icons";
import { PageHead, type Fact } from "@/components/ui/page";
import { Empty, Failure, Loading, Panel } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { useCurrentSystemIs } from "@/lib/current-system";
import { sectionTabs, to } from "@/lib/kinds";
import { isOver } from "@/lib/load";
import { countText } from "@/lib/numbers";
import { ageText, exactTime } from "@/lib/time";

const OverlayMap = lazy(() => import("./overlay-map"));

export default function TopologyPage() {
  const { systemId = "" } = useParams();
  return <Topology key={systemId} systemId={systemId} />;
}

function Topology({ systemId }: { systemId: string }) {
  useCurrentSystemIs(systemId);
  const system = useSystem(systemId);
  const scope = { system: systemId };
  const brokers = useQuery({
    queryKey: keys.catalog.whole("brokers", scope),
    queryFn: ({ signal }) => catalogAll("brokers", scope, signal),
  });
  const links = useQuery({
    queryKey: keys.catalog.whole("links", scope),
    queryFn: ({ signal }) => catalogAll("links", scope, signal),
  });
  const inForce = { ...scope, in_force: true };
  const overlays = useQuery({
    queryKey: keys.catalog.whole("overlays", inForce),
    queryFn: ({ signal }) => catalogAll("overlays", inForce, signal),
  });
  const latest = useQuery(allocationsQuery({ system: systemId, page_size: 1 }));
  const allocation = latest.data?.results[0];
  const loads = useQuery({ ...loadsQuery(allocation?.id ?? ""), enabled: Boolean(allocation) });
  const overlay = overlays.data?.[0];
  const graph = useMemo(
    () => makeGraph(brokers.data ?? [], links.data ?? [], overlay, loads.data?.rows ?? []),
    [brokers.data, links.data, overlay, loads.data],
  );
  const [picked, setPicked] = useState<string | null>(null);
  const selected = graph.nodes.find((node) => node.broker.id === picked) ?? graph.nodes[0];
  const over = graph.nodes.filter((node) => node.fraction !== null && isOver(node.fraction)).length;
  const mayAdd = system.data?.allowed_commands.includes("add") ?? false;
  const mayOptimize = system.data?.allowed_commands.includes("optimize") ?? false;
  const waiting =
    brokers.isPending || links.isPending || latest.isPending || (allocation && loads.isPending);
  const broken = brokers.error ?? links.error;

  const facts: Fact[] = [
    {
      key: "overlay",
      icon: "versions",
      text: overlay ? (
        <>
          overlay <Link to={to.object(systemId, "overlays", overlay.id)}>{overlay.name}</Link> in
          force
        </>
      ) : (
        "no overlay in force"
      ),
    },
    {
      key: "size",
      icon: "server",
      text: `${countText(graph.nodes.length, "broker")}, ${countText(graph.edges.length, "link")}`,
    },
    {
      key: "loads",
      icon: "adjustments",
      text: allocation ? (
        <span title={exactTime(allocation.created_at)}>
          loads of allocation <Link to={to.allocation(allocation.id)}>A-{allocation.number}</Link>,{" "}
          {ageText(allocation.created_at)} old
        </span>
      ) : (
        "no allocation yet, so no loads"
      ),
    },
  ];

  return (
    <>
      <PageHead
        title="Topology"
        crumbs={[{ label: system.data?.name ?? "System", to: to.system(systemId) }]}
        state={
          over > 0 ? (
            <Badge tone="bad" icon="alert" large>
              {countText(over, "broker")} over capacity
            </Badge>
          ) : null
        }
        tabs={sectionTabs(systemId, "topology")}
        facts={facts}
        commands={
          <>
            {mayAdd ? (
              <Link className="btn" to={to.newOf(systemId, "brokers")}>
                <Icon name="plus" small />
                New broker
              </Link>
            ) : null}
            {mayOptimize ? (
              <Link className="btn pri" to={to.optimize(systemId)}>
                <Icon name="play" small />
                Optimize
              </Link>
            ) : null}
          </>
        }
      />
      <div className="main">
        <div className="cols c-8-4">
          <Panel
            title="Map"
            right={
              <>
                <LoadLegend />
                <span>% of capacity</span>
              </>
            }
            flush
            footer={
              <span style={{ display: "flex", gap: 18, flexWrap: "wrap" }}>
                <span>
                  <b>Tank</b> broker load, line is capacity
                </span>
                <span>
                  <b>Link</b> colour is load, width is traffic, dashed is not in the overlay
                </span>
                <span style={{ marginLeft: "auto" }}>
                  <kbd>F</kbd> fit <kbd>J</kbd> <kbd>K</kbd> next, previous
                </span>
              </span>
            }
          >
            {broken ? (
              <Failure
                error={broken}
                what="The map"
                retry={() => {
                  void brokers.refetch();
                  void links.refetch();
                }}
              />
            ) : waiting ? (
              <Loading rows={8} label="Loading the map" />
            ) : graph.nodes.length === 0 ? (
              <Empty
                command={
                  mayAdd ? (
                    <Link className="btn" to={to.newOf(systemId, "brokers")}>
                      New broker
                    </Link>
                  ) : undefined
                }
              >
                Brokers and the links between them appear here. This system has none yet.
              </Empty>
            ) : (
              <Suspense fallback={<Loading rows={8} label="Loading the map" />}>
                <OverlayMap
                  graph={graph}
                  selected={selected?.broker.id ?? null}
                  onSelect={setPicked}
                />
              </Suspense>
            )}
          </Panel>
          <div className="stack">
            {selected ? (
              <BrokerPanel
                system={systemId}
                node={selected}
                edges={graph.edges}
                allocation={allocation?.id ?? null}
              />
            ) : null}
            {graph.edges.length > 0 ? <BusiestLinks system={systemId} edges={graph.edges} /> : null}
          </div>
        </div>
        {graph.nodes.length > 0 ? (
          <PartsTable
            system={systemId}
            systemName={system.data?.name ?? "system"}
            graph={graph}
            selected={selected?.broker.id ?? null}
            onSelect={setPicked}
          />
        ) : null}
      </div>
    </>
  );
}
