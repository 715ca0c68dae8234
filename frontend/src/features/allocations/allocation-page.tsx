/** One allocation: what it is worth, who gets what rate, who is admitted and why, where it is scarce. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useParams, useSearchParams } from "react-router";

import { AgainstPanel } from "./against-panel";
import { AllocationHead } from "./allocation-head";
import { ChangesPanel } from "./changes-panel";
import { ClassesPanel } from "./classes-panel";
import { Figures, secondsOf } from "./figures";
import { LinksPanel } from "./links-panel";
import { useMakePlan } from "./make-plan";
import { MethodsOverTime } from "./methods-over-time";
import { MethodsPanel } from "./methods-panel";
import { NodesPanel } from "./nodes-panel";
import { byRank, formerOf, outcomeOfRow } from "./outcome";
import { RatesPanel } from "./rates-panel";
import { WhyPanel } from "./why-panel";

import {
  allocationQuery,
  allocationsQuery,
  comparisonQuery,
  loadsQuery,
  populationsQuery,
  ratesQuery,
  type AllocationDetail,
} from "@/api/allocations";
import { useMay } from "@/api/session";
import { ConvergenceChart, pointsOf } from "@/components/ui/convergence-chart";
import { Note } from "@/components/ui/dialogs";
import { PageHead } from "@/components/ui/page";
import { Failure, Panel, QueryBody } from "@/components/ui/panel";
import { UnitNumber } from "@/components/ui/unit-number";
import { useCurrentSystemIs } from "@/lib/current-system";

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

/** A panel whose rows are still on their way, or did not come. */
function Waiting({
  title,
  what,
  rows,
  query,
}: {
  title: string;
  what: string;
  rows: number;
  query: Parameters<typeof QueryBody>[0]["query"];
}) {
  return (
    <Panel title={title} flush>
      <QueryBody query={query} what={what} rows={rows}>
        {() => null}
      </QueryBody>
    </Panel>
  );
}

/** What this allocation is compared with: the one in force, the one before, or the one chosen. */
function useAgainst(allocation: AllocationDetail) {
  const [params, setParams] = useSearchParams();
  const chosen = params.get("with");
  const comparable = chosen !== null || allocation.compared_with !== null;
  const comparison = useQuery({ ...comparisonQuery(allocation.id, chosen), enabled: comparable });
  const others = useQuery({
    ...allocationsQuery({ system: allocation.system ?? "", page_size: 50 }),
    enabled: allocation.system !== null && comparable,
  });
  const choose = (other: string) =>
    setParams(
      (old) => {
        const next = new URLSearchParams(old);
        next.set("with", other);
        return next;
      },
      { replace: true },
    );
  return {
    comparison,
    choose,
    others: (others.data?.results ?? []).filter((row) => row.id !== allocation.id),
  };
}

function AllocationView({ allocation }: { allocation: AllocationDetail }) {
  useCurrentSystemIs(allocation.system);
  const name = `A-${allocation.number}`;
  const rates = useQuery(ratesQuery(allocation.id));
  const populations = useQuery(populationsQuery(allocation.id));
  const loads = useQuery(loadsQuery(allocation.id));
  const { comparison, others, choose } = useAgainst(allocation);
  const planning = useMakePlan(allocation.id);
  const mayTry = useMay("start_run");
  const [picked, setPicked] = useState<string | null>(null);
  // Counts over a part of the classes would be wrong counts.
  const isWhole = populations.data?.count === populations.data?.rows.length;
  const classes = useMemo(() => byRank(populations.data?.rows ?? []), [populations.data]);
  // The most valuable class that did not get in is what one asks about first.
  const selected =
    classes.find((row) => row.consumer_class === picked) ??
    classes.find((row) => outcomeOfRow(row) === "refused") ??
    classes[0];

  return (
    <>
      <AllocationHead allocation={allocation} planning={planning} />
      <div className="main">
        {planning.refusal ? (
          <Note>
            <b>Nothing to plan.</b> {planning.refusal}
          </Note>
        ) : null}
        <Figures
          allocation={allocation}
          classes={isWhole ? populations.data?.rows : undefined}
          loads={loads.data?.rows}
          comparison={comparison.data}
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
              <Waiting title="Rates against bounds" what="Rates" rows={6} query={rates} />
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
              <Waiting title="Consumers by class" what="Consumers" rows={10} query={populations} />
            )}
            {allocation.trace.length > 0 ? (
              <ConvergenceChart
                convergence={{
                  name,
                  points: pointsOf(allocation.trace, allocation.bounds),
                  upperBound: allocation.upper_bound,
                }}
                right={<UnitNumber value={secondsOf(allocation)} as="duration" />}
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
              <Waiting title="Node load and price" what="Loads" rows={6} query={loads} />
            )}
            {selected ? (
              <WhyPanel
                allocation={allocation.id}
                system={allocation.system}
                row={selected}
                mayTry={mayTry}
              />
            ) : null}
            {comparison.data ? (
              <AgainstPanel
                comparison={comparison.data}
                allocation={allocation}
                loads={loads.data?.rows ?? []}
                others={others}
                onOther={choose}
              />
            ) : comparison.error ? (
              <Panel title="Against another allocation">
                <Failure
                  error={comparison.error}
                  what="The comparison"
                  retry={() => void comparison.refetch()}
                />
              </Panel>
            ) : null}
            {loads.data ? (
              <LinksPanel
                loads={loads.data.rows}
                formerPrices={formerOf(comparison.data?.link_prices)}
              />
            ) : null}
          </div>
        </div>
        {comparison.data ? (
          <ChangesPanel
            key={comparison.data.other}
            comparison={comparison.data}
            number={allocation.number}
            method={allocation.method}
          />
        ) : null}
        <MethodsPanel allocation={allocation} />
        <MethodsOverTime allocation={allocation} />
      </div>
    </>
  );
}
