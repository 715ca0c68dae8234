/** The records of a system: what arrived, what was set aside, which batches, for how long. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";

import "./records.css";

import { BatchesPanel } from "./batches-panel";
import { CountsTable } from "./counts-table";
import { HowToSend } from "./how-to-send";
import { SetAsidePanel } from "./set-aside-panel";
import { SettingsPanel } from "./settings-panel";

import { recordCountsQuery, recordSettingsQuery } from "@/api/records";
import { useSystem } from "@/api/systems";
import { Icon } from "@/components/ui/icons";
import { PageHead } from "@/components/ui/page";
import { Panel, QueryBody } from "@/components/ui/panel";
import { useCurrentSystemIs } from "@/lib/current-system";
import { to } from "@/lib/kinds";

export default function RecordsPage() {
  const { systemId = "" } = useParams();
  return <Records key={systemId} system={systemId} />;
}

function Records({ system }: { system: string }) {
  useCurrentSystemIs(system);
  const name = useSystem(system).data?.name ?? "System";
  const counts = useQuery(recordCountsQuery(system));
  const settings = useQuery(recordSettingsQuery(system));
  const hasRecords = counts.data !== undefined && counts.data.tables.length > 0;
  return (
    <>
      <PageHead
        title="Records"
        crumbs={[{ label: name, to: to.system(system) }]}
        commands={
          <Link className="btn" to={`/systems/${system}/measured`}>
            <Icon name="chart" small />
            What was measured
          </Link>
        }
        plainFacts={<span>what was sent, received and measured, as it arrives in batches</span>}
      />
      <div className="main">
        <Panel title="What arrived" sub={hasRecords ? "rows by table" : undefined} flush>
          <QueryBody query={counts} what="The counts" rows={4}>
            {({ tables }) =>
              tables.length === 0 ? <HowToSend system={system} /> : <CountsTable rows={tables} />
            }
          </QueryBody>
        </Panel>
        {counts.data && hasRecords ? (
          <>
            <SetAsidePanel system={system} counts={counts.data} />
            <BatchesPanel system={system} />
          </>
        ) : null}
        <Panel title="How records are kept">
          <QueryBody query={settings} what="The settings" rows={3}>
            {(row) => <SettingsPanel row={row} />}
          </QueryBody>
        </Panel>
      </div>
    </>
  );
}
