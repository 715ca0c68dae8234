/** The demand of a system: what is wanted, what is used of it, and since when. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";

import { EstimatesPanel } from "./estimates-panel";
import { ForecastPanel } from "./forecast-panel";
import { RequestsPanel } from "./requests-panel";
import { SettingsForm } from "./settings-form";
import { WantedPanel } from "./wanted-panel";

import { demandQuery, demandSettingsQuery } from "@/api/demand";
import { useSystem } from "@/api/systems";
import { Icon } from "@/components/ui/icons";
import { SearchField, useListAddress } from "@/components/ui/list-tools";
import { PageHead } from "@/components/ui/page";
import { Panel, QueryBody } from "@/components/ui/panel";
import { useCurrentSystemIs } from "@/lib/current-system";
import { to } from "@/lib/kinds";

export default function DemandPage() {
  const { systemId = "" } = useParams();
  return <DemandOf key={systemId} system={systemId} />;
}

function DemandOf({ system }: { system: string }) {
  useCurrentSystemIs(system);
  const name = useSystem(system).data?.name ?? "System";
  const { search, set } = useListAddress();
  const now = useQuery({ ...demandQuery(system, { search }), placeholderData: keepPreviousData });
  const settings = useQuery(demandSettingsQuery(system));
  return (
    <>
      <PageHead
        title="Demand"
        crumbs={[{ label: name, to: to.system(system) }]}
        commands={
          <>
            <SearchField
              label="Topic or class"
              value={search}
              onSearch={(text) => set({ search: text })}
            />
            <Link className="btn" to={`/systems/${system}/measured`}>
              <Icon name="chart" small />
              What was measured
            </Link>
          </>
        }
        plainFacts={<span>what publishers and consumers want, measured and in the model</span>}
      />
      <div className="main">
        <div className="cols c-8-4">
          <div className="stack">
            <WantedPanel system={system} subject="topic" now={now} search={search} />
            <WantedPanel system={system} subject="class" now={now} search={search} />
          </div>
          <Panel
            title="What snapshots use"
            sub={now.data ? (now.data.estimate_name ?? "the model") : undefined}
          >
            <QueryBody query={settings} what="The settings" rows={6}>
              {(row) => <SettingsForm key={row.version} row={row} now={now.data} />}
            </QueryBody>
          </Panel>
        </div>
        <RequestsPanel system={system} />
        <ForecastPanel system={system} />
        <EstimatesPanel system={system} />
      </div>
    </>
  );
}
