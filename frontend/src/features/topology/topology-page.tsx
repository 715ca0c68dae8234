/** The map of a system, the selected broker, the busiest links, and both as tables. */
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";

import { BrokerPanel, BusiestLinks } from "./broker-panel";
import { makeGraph } from "./graph";
import { LevelsPanel } from "./levels-panel";
import type { View } from "./overlay-panel";
import { PartsTable } from "./parts-table";
import { useGoals } from "./use-goals";

import { loadsQuery, overviewQuery } from "@/api/allocations";
import { catalogAll } from "@/api/catalog";
import { trafficQuery } from "@/api/in-force";
import { keys } from "@/api/query-keys";
import { useSystem } from "@/api/systems";
import { AskDialog } from "@/components/ui/ask-dialog";
import { Command } from "@/components/ui/command";
import { Icon } from "@/components/ui/icons";
import { PageHead, type Fact } from "@/components/ui/page";
import { Empty, Failure, Loading, Panel } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { answerAddress, askAddress } from "@/lib/computations";
import { useCurrentSystemIs } from "@/lib/current-system";
import { sectionTabs, to } from "@/lib/kinds";
import { isOver } from "@/lib/load";
import { countText, rateText } from "@/lib/numbers";
import { ageText, exactTime } from "@/lib/time";

const OverlayPanel = lazy(() =>
  import("./overlay-panel").then((part) => ({ default: part.OverlayPanel })),
);

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
  const overview = useQuery(overviewQuery);
  const glance = overview.data?.results.find((row) => row.id === systemId);
  // What stands comes before what is proposed.
  const allocation = glance?.allocation_in_force ?? glance?.latest_allocation;
  const loads = useQuery({ ...loadsQuery(allocation?.id ?? ""), enabled: Boolean(allocation) });
  const overlay = overlays.data?.[0];
  // Without an overlay in force there is nothing that messages travel over.
  const traffic = useQuery({ ...trafficQuery(systemId), enabled: overlay !== undefined });
  const graph = useMemo(
    () =>
      makeGraph(
        brokers.data ?? [],
        links.data ?? [],
        overlay,
        loads.data?.rows ?? [],
        traffic.data,
      ),
    [brokers.data, links.data, overlay, loads.data, traffic.data],
  );
  const [picked, setPicked] = useState<string | null>(null);
  const selected = graph.nodes.find((node) => node.broker.name === picked) ?? graph.nodes[0];
  const [params, setParams] = useSearchParams();
  const [view, setView] = useState<View>("map");
  const [wanted, setWanted] = useState<string | null>(null);
  const { goals, goal } = useGoals(systemId, wanted, view === "goal");
  const ask = (open: boolean) =>
    setParams(
      (old) => {
        const next = new URLSearchParams(old);
        if (open) next.set("evaluate", "1");
        else next.delete("evaluate");
        return next;
      },
      { replace: true },
    );
  // A proposal says how full brokers would be, not how full they are.
  const known = traffic.data?.source === "measured" || Boolean(glance?.allocation_in_force);
  const over = known
    ? graph.nodes.filter((node) => node.fraction !== null && isOver(node.fraction)).length
    : 0;
  const mayAdd = system.data?.allowed_commands.includes("add") ?? false;
  const mayOptimize = system.data?.allowed_commands.includes("optimize") ?? false;
  const waiting =
    brokers.isPending || links.isPending || overview.isPending || (allocation && loads.isPending);
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
      text: `${countText(graph.nodes.length, "broker")}, ${countText(graph.tree.length, "link")}${overlay ? ", a tree" : ""}`,
    },
    ...(traffic.data
      ? [
          {
            key: "traffic",
            icon: "gauge" as const,
            text: (
              <span title={traffic.data.detail}>
                {rateText(traffic.data.traffic_per_s)} msg/s on links,{" "}
                {traffic.data.source === "measured" ? "measured" : "by the model"}
              </span>
            ),
          },
          {
            key: "flight",
            icon: "hourglass" as const,
            text: `${countText(traffic.data.in_flight, "message")} in flight`,
          },
        ]
      : []),
    ...(traffic.data && !allocation
      ? []
      : [
          {
            key: "loads",
            icon: "adjustments" as const,
            text: allocation ? (
              <span title={exactTime(allocation.created_at)}>
                loads of allocation{" "}
                <Link to={answerAddress("allocation", systemId, allocation.id)}>
                  A-{allocation.number}
                </Link>
                , {glance?.allocation_in_force ? "in force" : "proposed"},{" "}
                {ageText(allocation.created_at)} old
              </span>
            ) : (
              "no allocation yet, so no loads"
            ),
          },
        ]),
  ];

  const askButton = mayOptimize ? (
    <Command
      icon="affiliate"
      primary
      onClick={() => ask(true)}
      disabled={overlay === undefined}
      reason="No overlay is in force, so there is none to make better."
    >
      Find a better overlay
    </Command>
  ) : null;

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
        // Before the answers are there, nothing may be said to be missing.
        facts={waiting || overlays.isPending ? [] : facts}
        commands={
          <>
            {mayAdd ? (
              <Link className="btn" to={to.newOf(systemId, "brokers")}>
                <Icon name="plus" small />
                New broker
              </Link>
            ) : null}
            {mayOptimize ? (
              <Link className="btn" to={askAddress("allocation", systemId)}>
                <Icon name="play" small />
                Optimize
              </Link>
            ) : null}
            {askButton}
          </>
        }
      />
      <div className="main">
        <div className="cols c-8-4">
          <div className="stack">
            {broken || waiting || graph.nodes.length === 0 ? (
              <Panel title="Overlay" flush>
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
                ) : (
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
                )}
              </Panel>
            ) : (
              <Suspense
                fallback={
                  <Panel title="Overlay" flush>
                    <Loading rows={8} label="Loading the map" />
                  </Panel>
                }
              >
                <OverlayPanel
                  graph={graph}
                  goals={goals}
                  goal={goal}
                  onGoal={setWanted}
                  view={view}
                  onView={setView}
                  selected={selected?.broker.name ?? null}
                  onSelect={setPicked}
                  ask={askButton}
                />
              </Suspense>
            )}
            <LevelsPanel system={systemId} nodes={graph.nodes} />
          </div>
          <div className="stack">
            {selected ? (
              <BrokerPanel system={systemId} node={selected} allocation={allocation?.id ?? null} />
            ) : null}
            {graph.edges.length > 0 ? <BusiestLinks system={systemId} edges={graph.edges} /> : null}
          </div>
        </div>
        {graph.nodes.length > 0 ? (
          <PartsTable
            system={systemId}
            systemName={system.data?.name ?? "system"}
            graph={graph}
            selected={selected?.broker.name ?? null}
            onSelect={setPicked}
          />
        ) : null}
      </div>
      {system.data && mayOptimize ? (
        <AskDialog
          kind="overlay"
          system={system.data}
          open={params.has("evaluate")}
          onClose={() => ask(false)}
        />
      ) : null}
    </>
  );
}
