/** One map: what it costs whom, against the maps that it is compared with, and what moves. */
import { useParams } from "react-router";

import { mappingsAt } from "./addresses";
import { CostLayers } from "./cost-layers";
import { DayPanel } from "./day-panel";
import { Figures } from "./figures";
import { HeatPanel } from "./heat-panel";
import { HandOversPanel } from "./hand-overs-panel";
import { InForcePanel } from "./in-force-panel";
import { hasMoved } from "./make-plan";
import { MappingHead } from "./mapping-head";
import { MovesCurve } from "./moves-curve";
import { MovesPanel } from "./moves-panel";
import { PinsPanel } from "./pins-panel";
import { ReceiversPanel } from "./receivers-panel";
import { useChosenMap } from "./use-chosen-map";

import { useMapping, type MappingDetail } from "@/api/mappings";
import { useSystem } from "@/api/systems";
import { Note } from "@/components/ui/dialogs";
import { PageHead } from "@/components/ui/page";
import { QueryBody } from "@/components/ui/panel";
import { useCurrentSystemIs } from "@/lib/current-system";
import { fixed } from "@/lib/numbers";
import { useStill } from "@/lib/still";

/** Rows of a map are read once the slider rests. */
const STILL_MS = 150;

export default function MappingPage() {
  const { id = "", systemId = "" } = useParams();
  useCurrentSystemIs(systemId);
  const mapping = useMapping(id);
  if (mapping.data) return <MappingView key={id} mapping={mapping.data} />;
  return (
    <>
      <PageHead title="Mapping" crumbs={[{ label: "Mapping", to: mappingsAt.list(systemId) }]} />
      <div className="main">
        <section className="panel">
          <QueryBody query={mapping} what="This mapping" rows={8}>
            {() => null}
          </QueryBody>
        </section>
      </div>
    </>
  );
}

function MappingView({ mapping }: { mapping: MappingDetail }) {
  const chosen = useChosenMap(mapping);
  const map = useStill(chosen.map, STILL_MS);
  return (
    <>
      <MappingHead mapping={mapping} />
      <div className="main">
        <Moved mapping={mapping} />
        <Figures mapping={mapping} chosen={chosen} />
        <div className="cols c-8-4 c-map">
          <div className="stack">
            <HeatPanel mapping={mapping} map={map} waits={map !== chosen.map} />
            <InForcePanel system={mapping.system} mapping={mapping} chosen={chosen} />
            <HandOversPanel system={mapping.system} />
            <DayPanel system={mapping.system} isQuiet />
          </div>
          <div className="stack">
            <MovesCurve mapping={mapping} chosen={chosen} />
            <CostLayers mapping={mapping} chosen={chosen} />
            <PinsPanel mapping={mapping} />
          </div>
        </div>
        <ReceiversPanel mapping={mapping} map={map} />
        <MovesPanel mapping={mapping} map={map} />
      </div>
    </>
  );
}

/** Why no plan can be made of it any more. */
function Moved({ mapping }: { mapping: MappingDetail }) {
  const system = useSystem(mapping.system).data;
  if (system === undefined || !hasMoved(mapping, system)) return null;
  return (
    <Note>
      The model is v{fixed(system.model_version)} now, and this mapping is of v
      {fixed(mapping.model_version)}: no plan can be made of it. Map flows again.
    </Note>
  );
}
