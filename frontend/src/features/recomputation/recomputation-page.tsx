/** Computing again by itself: schedules, triggers with what they see now, what fired, and what of it
 * was carried out without a person. */
import { useParams } from "react-router";

import { AutomaticPanel } from "./automatic-panel";
import { FiringsPanel } from "./firings-panel";
import { SchedulesPanel } from "./schedules-panel";
import { StopCommand } from "./stop-command";
import { TriggersPanel } from "./triggers-panel";

import { useSystem } from "@/api/systems";
import { PageHead } from "@/components/ui/page";
import { useCurrentSystemIs } from "@/lib/current-system";

export default function RecomputationPage() {
  const { systemId = "" } = useParams();
  return <Recomputation key={systemId} system={systemId} />;
}

function Recomputation({ system: systemId }: { system: string }) {
  useCurrentSystemIs(systemId);
  const system = useSystem(systemId);
  const may = system.data?.allowed_commands.includes("optimize") ?? false;
  return (
    <>
      <PageHead
        title="Recomputation"
        crumbs={[{ label: system.data?.name ?? "System", to: `/systems/${systemId}` }]}
        commands={<StopCommand />}
        plainFacts={
          <span>one computation at a time; if anything is due meanwhile, one more follows</span>
        }
      />
      <div className="main">
        <div className="stack">
          <SchedulesPanel system={systemId} may={may} />
          <TriggersPanel system={systemId} may={may} />
          <AutomaticPanel system={systemId} />
          <FiringsPanel system={systemId} />
        </div>
      </div>
    </>
  );
}
