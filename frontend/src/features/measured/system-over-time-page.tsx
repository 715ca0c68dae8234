/** A whole system over time: traffic, delays, what waits, consumers, brokers, objectives, and how
 * complete all that is. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";

import "./measured.css";

import { systemBoard } from "./boards";
import { Charts, DelayKinds, Ranges } from "./charts";
import { ObjectivesPanel } from "./objectives-panel";
import { QualityPanel } from "./quality-panel";
import { kindOf, rangeOf, useAddressChange } from "./question";
import type { DelayKind } from "./sums";

import { sloComplianceQuery } from "@/api/objectives";
import { useSystem } from "@/api/systems";
import { PageHead } from "@/components/ui/page";
import { WaitingTable } from "@/components/ui/waiting-panel";
import { useCurrentSystemIs } from "@/lib/current-system";
import { to } from "@/lib/kinds";

const KINDS: readonly DelayKind[] = ["delivery", "answer", "gate"];
const OBJECTIVES = 10;

export default function SystemOverTimePage() {
  const { systemId = "" } = useParams();
  return <OverTime key={systemId} system={systemId} />;
}

function OverTime({ system }: { system: string }) {
  useCurrentSystemIs(system);
  const name = useSystem(system).data?.name ?? "System";
  const [params, change] = useAddressChange();
  const range = rangeOf(params);
  const kind = kindOf(params.get("delay") ?? "", "delivery", KINDS);
  const objectives = useQuery(sloComplianceQuery(system, { page_size: OBJECTIVES }));
  return (
    <>
      <PageHead
        title="Over time"
        crumbs={[{ label: name, to: to.system(system) }]}
        commands={<Ranges value={range} onChange={(value) => change({ range: value })} />}
        plainFacts={
          <span>what was measured of all topics, classes and brokers, minute by minute</span>
        }
      />
      <div className="main">
        <Charts
          specs={systemBoard(kind)}
          system={system}
          range={range}
          delay={
            <DelayKinds kinds={KINDS} value={kind} onChange={(value) => change({ delay: value })} />
          }
        />
        <ObjectivesPanel system={system} query={objectives} of="this system" />
        <WaitingTable system={system} />
        <QualityPanel system={system} range={range} />
      </div>
    </>
  );
}
