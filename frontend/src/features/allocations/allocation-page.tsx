/** One allocation: what it is worth, who gets what rate, who is admitted and why, where it is scarce. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";

import { AgainstPanel } from "./against-panel";
import { ClassesPanel } from "./classes-panel";
import { LinksPanel, NodesPanel } from "./loads-panels";
import { useMakePlan } from "./make-plan";
import { byRank, costsOf, formerOf, outcomeOfRow, scarcest, tally } from "./outcome";
import { RatesPanel } from "./rates-panel";

import {
  allocationQuery,
  allocationsQuery,
  comparisonQuery,
  loadsQuery,
  populationsQuery,
  ratesQuery,
  type AllocationDetail,
} from "@/api/allocations";
import { client, take } from "@/api/client";
import { usePlansOf } from "@/api/plans";
import { keys } from "@/api/query-keys";
import { useRerun } from "@/api/runs";
import { useSystem } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { ConvergenceChart, pointsOf } from "@/components/ui/convergence-chart";
import { Note } from "@/components/ui/dialogs";
import { FigureStrip } from "@/components/ui/figure-strip";
import { Icon } from "@/components/ui/icons";
import { PageHead } from "@/components/ui/page";
import { Panel, QueryBody } from "@/components/ui/panel";
import { PlanLinks } from "@/components/ui/plan-links";
import { StateBadge } from "@/components/ui/state-badge";
import { tell, tellFailure } from "@/components/ui/toast";
import { Delta, UnitNumber } from "@/components/ui/unit-number";
import { WhyPanel } from "@/components/ui/why-panel";
import { useCurrentSystemIs } from "@/lib/current-system";
import { to } from "@/lib/kinds";
import { fixed, gapText, priceText, significant, UNKNOWN } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

/** Above this many classes the frozen problem is too large to read for one sentence. */
const MOST_FOR_COSTS = 5000;

export default function AllocationPage() {
  const { id = "" } = useParams();
  const allocation = useQuery(allocationQuery(id));
  if (allocation.data) return <AllocationView key={id} allocation={allocation.data} />;
  return (
    <>
      <PageHead title="Allocation" />
      <div className="main">
        <section className="panel">
          <QueryBody query={allocation} what="This allocation" rows={6}>
            {() => null}
          </QueryBody>
        </section>
      </div>
    </>
  );
}

function useSnapshotCosts(run: string, enabled: boolean) {
  const snapshot = useQuery({
    queryKey: [...keys.runs.one(run), "snapshot"],
    enabled,
    staleTime: Infinity,
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/runs/{id}/snapshot", { params: { path: { id: run } }, signal })),
  });
  return useMemo(() => costsOf(snapshot.data), [snapshot.data]);
}

function AllocationView({ allocation }: { allocation: AllocationDetail }) {
  useCurrentSystemIs(allocation.system);
  const navigate = useNavigate();
  const [params, setParams] = useSearchParams();
  const against = params.get("with");
  const name = `A-${allocation.number}`;
  const system = useSystem(allocation.system ?? "");
  const rates = useQuery(ratesQuery(allocation.id));
  const populations = useQuery(populationsQuery(allocation.id));
  const loads = useQuery(loadsQuery(allocation.id));
  const comparable = against !== null || allocation.previous !== null;
  const comparison = useQuery({
    ...comparisonQuery(allocation.id, against),
    enabled: comparable,
  });
  const others = useQuery({
    ...allocationsQuery({ system: allocation.system ?? "", page_size: 50 }),
    enabled: allocation.system !== null && comparable,
  });
  const rerun = useRerun();
  const plans = usePlansOf(allocation.system, allocation.id, allocation.number);
  const carriedOut = plans.some((plan) => plan.state === "executed");
  const planning = useMakePlan(allocation.id);
  const [picked, setPicked] = useState<string | null>(null);

  const classes = useMemo(() => byRank(populations.data?.rows ?? []), [populations.data]);
  const costs = useSnapshotCosts(
    allocation.run,
    classes.length > 0 && classes.length <= MOST_FOR_COSTS,
  );
  // The most valuable class that did not get in is what one asks about first.
  const selected =
    classes.find((row) => row.consumer_class === picked) ??
    classes.find((row) => outcomeOfRow(row) === "refused") ??
    classes[0];
  const rateOf = (flow: string) => rates.data?.rows.find((row) => row.flow === flow)?.rate_per_s;
  const priceOf = (node: string, resource: string) =>
    loads.data?.rows.find(
      (load) => load.place === "node" && load.name === node && load.resource === resource,
    )?.price ?? 0;

  const counts = tally(classes);
  const scarce = scarcest(loads.data?.rows ?? []);
  const took =
    (new Date(allocation.finished_at).getTime() - new Date(allocation.started_at).getTime()) / 1000;
  const before = comparison.data?.utility.before ?? null;
  const bound = allocation.upper_bound;

  const again = () => {
    rerun.mutate(allocation.run, {
      onSuccess: (run) => {
        tell(`Started R-${run.number}`, "Same snapshot, method, parameters and seed.");
        void navigate(to.run(run.id));
      },
      onError: (error) => tellFailure("Not started", error),
    });
  };
  const mayPlan = allocation.allowed_commands.includes("plan");
  const mayOptimize = system.data?.allowed_commands.includes("optimize") ?? false;

  return (
    <>
      <PageHead
        title={`Allocation ${name}`}
        crumb={name}
        crumbs={
          allocation.system
            ? [
                { label: system.data?.name ?? "System", to: to.topology(allocation.system) },
                { label: "Allocation", to: to.allocations(allocation.system) },
              ]
            : [{ label: "Runs", to: to.runs }]
        }
        state={
          <>
            <StateBadge state={allocation.status} large />
            {carriedOut ? null : <span className="tag out">proposal, not in force</span>}
          </>
        }
        waterline={1}
        facts={[
          {
            key: "snapshot",
            icon: "versions",
            text: (
              <>
                {allocation.model_version === null
                  ? "own problem"
                  : `model v${allocation.model_version}`}
                , snapshot{" "}
                <span className="mono" title={allocation.snapshot_hash}>
                  {allocation.snapshot_hash.slice(0, 8)}
                </span>
              </>
            ),
          },
          {
            key: "run",
            icon: "play",
            text: (
              <>
                run <Link to={to.run(allocation.run)}>R-{allocation.run_number}</Link>,{" "}
                {allocation.method}, seed {allocation.seed}
              </>
            ),
          },
          { key: "person", icon: "users", text: `asked by ${allocation.asked_by ?? "Weir"}` },
          ...(plans.length > 0
            ? [{ key: "plans", icon: "plan" as const, text: <PlanLinks plans={plans} /> }]
            : []),
          {
            key: "time",
            icon: "clock",
            text: (
              <span title={exactTime(allocation.created_at)}>
                {clockText(allocation.created_at)} UTC
              </span>
            ),
          },
        ]}
        commands={
          <>
            {allocation.allowed_commands.includes("rerun") ? (
              <Command icon="refresh" onClick={again} disabled={rerun.isPending}>
                Run again
              </Command>
            ) : null}
            {mayOptimize && allocation.system ? (
              <Link className={mayPlan ? "btn" : "btn pri"} to={to.optimize(allocation.system)}>
                <Icon name="play" small />
                Optimize
              </Link>
            ) : null}
            {mayPlan ? (
              <Command icon="plan" primary onClick={planning.make} disabled={planning.isPending}>
                Make plan
              </Command>
            ) : null}
          </>
        }
      />
      <div className="main">
        {planning.refusal ? (
          <Note>
            <b>Nothing to plan.</b> {planning.refusal}
          </Note>
        ) : null}
        <FigureStrip
          figures={[
            {
              label: "Total utility",
              value: fixed(allocation.utility, 1),
              note:
                before === null ? (
                  "the first of its system"
                ) : (
                  <>
                    <Delta value={allocation.utility - before} decimals={1} better="up" /> on A-
                    {comparison.data?.other_number}
                  </>
                ),
            },
            {
              label: "Upper bound",
              value: fixed(bound, 1),
              note:
                bound === null
                  ? `${allocation.method} proves no bound`
                  : "no allocation can exceed it",
            },
            bound === null
              ? {
                  label: "Iterations",
                  value: fixed(allocation.iterations),
                  note: <>in {significant(took, 2)} s</>,
                }
              : {
                  label: "Gap",
                  value: gapText(allocation.utility, bound),
                  unit: "%",
                  note: `${significant(bound - allocation.utility, 2)} utility left at most`,
                },
            {
              label: "Consumers admitted",
              value: fixed(allocation.admitted),
              unit: `of ${fixed(allocation.wanted)}`,
              note: populations.data
                ? `${fixed(counts.all)} full, ${fixed(counts.part)} in part, ${fixed(counts.refused)} refused`
                : undefined,
            },
            {
              label: "Scarcest resource",
              value: scarce ? scarce.load.name : loads.data ? "none" : UNKNOWN,
              unit: scarce
                ? `${scarce.load.resource ?? ""}, ${priceText(scarce.load.price)} per unit`
                : undefined,
              note: scarce?.next
                ? `${significant(scarce.load.price / scarce.next.price, 2)} times the price at ${scarce.next.name}`
                : scarce
                  ? "the only one with a price"
                  : "every price is 0",
            },
          ]}
        />
        <div className="cols c-8-4">
          <div className="stack">
            {rates.data ? (
              <RatesPanel
                name={name}
                rows={rates.data.rows}
                count={rates.data.count}
                former={formerOf(comparison.data?.rates)}
              />
            ) : (
              <Panel title="Rates against bounds" flush>
                <QueryBody query={rates} what="Rates" rows={6}>
                  {() => null}
                </QueryBody>
              </Panel>
            )}
            {populations.data ? (
              <ClassesPanel
                name={name}
                rows={classes}
                count={populations.data.count}
                former={formerOf(comparison.data?.populations)}
                selected={selected?.consumer_class ?? null}
                onSelect={(row) => setPicked(row.consumer_class)}
              />
            ) : (
              <Panel title="Consumers by class" flush>
                <QueryBody query={populations} what="Consumers" rows={10}>
                  {() => null}
                </QueryBody>
              </Panel>
            )}
            {allocation.trace.length > 0 ? (
              <ConvergenceChart
                convergence={{ name, points: pointsOf(allocation.trace), upperBound: bound }}
                right={<UnitNumber value={took} as="duration" />}
              />
            ) : null}
          </div>
          <div className="stack">
            {loads.data ? (
              <NodesPanel
                loads={loads.data.rows}
                formerPrices={formerOf(comparison.data?.node_prices)}
                formerCapacities={formerOf(comparison.data?.node_capacities)}
              />
            ) : (
              <Panel title="Node load and price" flush>
                <QueryBody query={loads} what="Loads" rows={6}>
                  {() => null}
                </QueryBody>
              </Panel>
            )}
            {selected ? (
              <WhyPanel
                why={{
                  name: selected.consumer_class,
                  topic: selected.flow,
                  broker: selected.node,
                  rate: rateOf(selected.flow) ?? 0,
                  admitted: selected.admitted,
                  wanted: selected.wanted,
                  value: selected.value_of_one,
                  cost: selected.price_of_one,
                  weight: selected.scale,
                  work: Object.entries(costs.get(selected.consumer_class) ?? {}).map(
                    ([resource, cost]) => ({
                      resource,
                      unitsPerS: cost * (rateOf(selected.flow) ?? 0),
                      price: priceOf(selected.node, resource),
                    }),
                  ),
                }}
              />
            ) : null}
            {comparison.data ? (
              <AgainstPanel
                comparison={comparison.data}
                allocation={allocation}
                others={(others.data?.results ?? []).filter((row) => row.id !== allocation.id)}
                onOther={(other) =>
                  setParams(
                    (old) => {
                      const next = new URLSearchParams(old);
                      next.set("with", other);
                      return next;
                    },
                    { replace: true },
                  )
                }
              />
            ) : null}
            {loads.data ? <LinksPanel loads={loads.data.rows} /> : null}
          </div>
        </div>
      </div>
    </>
  );
}
