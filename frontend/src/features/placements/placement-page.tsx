/** One placement: how many brokers and why, what each gets, who moves, and what changes would do. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";

import { AdaptationPanel } from "./adaptation-panel";
import { placementsAt } from "./addresses";
import { BrokersPanel } from "./brokers-panel";
import { Figures } from "./figures";
import { GroupsPanel } from "./groups-panel";
import { MovesPanel } from "./moves-panel";
import { PartsPanel } from "./parts-panel";
import { PenaltyChart } from "./penalty-chart";
import { PlacementHead } from "./placement-head";
import { RoundsPanel } from "./rounds-panel";
import { noRoom } from "./sentences";
import { useWhatIf } from "./use-what-if";
import { WhatIfPanel } from "./what-if-panel";

import { placementQuery, type PlacementDetail } from "@/api/placements";
import { Note } from "@/components/ui/dialogs";
import { PageHead } from "@/components/ui/page";
import { QueryBody } from "@/components/ui/panel";
import { useCurrentSystemIs } from "@/lib/current-system";

export default function PlacementPage() {
  const { id = "", systemId = "" } = useParams();
  useCurrentSystemIs(systemId);
  const placement = useQuery(placementQuery(id));
  if (placement.data) return <PlacementView key={id} placement={placement.data} />;
  return (
    <>
      <PageHead
        title="Placement"
        crumbs={[{ label: "Placement", to: placementsAt.list(systemId) }]}
      />
      <div className="main">
        <section className="panel">
          <QueryBody query={placement} what="This placement" rows={8}>
            {() => null}
          </QueryBody>
        </section>
      </div>
    </>
  );
}

function PlacementView({ placement }: { placement: PlacementDetail }) {
  const trial = useWhatIf(placement);
  const may = placement.allowed_commands.includes("what_if");
  const { name, outcome: stored } = placement;
  const { outcome, isOn, waits } = trial;
  return (
    <>
      <PlacementHead placement={placement} isWhatIf={isOn} />
      <div className="main">
        {outcome.status === "infeasible" ? <Note tone="warn">{noRoom(outcome)}</Note> : null}
        <Figures outcome={outcome} stored={isOn ? stored : null} name={name} />
        <div className="cols c-8-4 c-place">
          <div className="stack">
            <PenaltyChart name={name} outcome={outcome} waits={waits} />
            <BrokersPanel
              name={name}
              outcome={outcome}
              storedDrained={placement.drained_brokers}
              trial={trial}
              may={may}
            />
          </div>
          <div className="stack">
            <WhatIfPanel stored={stored} trial={trial} may={may} />
            <GroupsPanel placement={placement} outcome={outcome} waits={waits} />
          </div>
        </div>
        <PartsPanel placement={placement} />
        <AdaptationPanel placement={placement} />
        <RoundsPanel placement={placement} />
        <MovesPanel placement={placement} isWhatIf={isOn} />
      </div>
    </>
  );
}
