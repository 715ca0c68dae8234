/** Every system and its state at a glance; only what today's data can answer is asked. */
import { usePrefetchQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";

import { BacklogAlarm } from "./backlog-alarm";
import { stands } from "./bases";
import { LoopStrip, OUTCOME_DAYS } from "./loop-strip";
import {
  CapacityQuestion,
  LatelyQuestion,
  latestAllocationsQuery,
  WaitingQuestion,
} from "./questions";
import { SystemsTable } from "./systems-table";

import { overviewQuery } from "@/api/allocations";
import { outcomesQuery } from "@/api/plans";
import { useMay } from "@/api/session";
import { Icon } from "@/components/ui/icons";
import { PageHead } from "@/components/ui/page";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { to } from "@/lib/kinds";
import { isOver } from "@/lib/load";
import { countText } from "@/lib/numbers";
import { longTime } from "@/lib/time";

export default function HomePage() {
  const overview = useQuery(overviewQuery);
  // What the questions need is asked beside the overview, which takes longest, not after it.
  usePrefetchQuery(outcomesQuery({ days: OUTCOME_DAYS }));
  usePrefetchQuery(latestAllocationsQuery);
  const mayCreate = useMay("create_system");
  const navigate = useNavigate();
  const systems = overview.data?.results ?? [];
  const sum = (of: (system: (typeof systems)[number]) => number) =>
    systems.reduce((total, system) => total + of(system), 0);
  const over = sum((system) =>
    stands(system.loads.basis)
      ? system.node_loads.filter((node) => isOver(node.utilisation)).length
      : 0,
  );
  const active = sum((system) => system.active_runs);
  return (
    <>
      <PageHead
        title="Home"
        state={
          over > 0 ? (
            <Badge tone="bad" icon="alert" large>
              {countText(over, "broker")} over capacity
            </Badge>
          ) : active > 0 ? (
            <Badge tone="active" icon="progress" large>
              {countText(active, "run")} active
            </Badge>
          ) : null
        }
        plainFacts={
          <>
            <span>{longTime(new Date())}</span>
            {overview.data ? (
              <span>
                {countText(systems.length, "system")},{" "}
                {countText(
                  sum((s) => s.brokers),
                  "broker",
                )}
                ,{" "}
                {countText(
                  sum((s) => s.topics),
                  "topic",
                )}
                ,{" "}
                {countText(
                  sum((s) => s.consumer_classes),
                  "consumer class",
                  "consumer classes",
                )}
              </span>
            ) : null}
          </>
        }
      />
      <div className="main">
        <BacklogAlarm systems={systems} />
        {overview.data ? <LoopStrip systems={systems} /> : null}
        {overview.data && systems.length > 0 ? (
          <div
            className="cols q3"
            style={{ alignItems: "stretch", gridTemplateColumns: "1fr 1fr 1.16fr" }}
          >
            <CapacityQuestion systems={systems} />
            <WaitingQuestion systems={systems} />
            <LatelyQuestion systems={systems} />
          </div>
        ) : null}
        <Panel
          title="Systems"
          sub={
            overview.data
              ? `${systems.length} managed, one tank per broker, line is capacity`
              : undefined
          }
          right={
            mayCreate ? (
              <Link className="btn sm" to={to.newSystem}>
                <Icon name="plus" small />
                New system
              </Link>
            ) : null
          }
          flush
        >
          <QueryBody query={overview} what="Systems" rows={4}>
            {({ results }) =>
              results.length === 0 ? (
                <Empty
                  command={
                    mayCreate ? (
                      <Link className="btn" to={to.newSystem}>
                        New system
                      </Link>
                    ) : undefined
                  }
                >
                  A system is one managed messaging system with its brokers, topics and consumers.
                  There is none yet.
                </Empty>
              ) : (
                <SystemsTable
                  systems={results}
                  onOpen={(system) => void navigate(to.topology(system.id))}
                />
              )
            }
          </QueryBody>
        </Panel>
      </div>
    </>
  );
}
