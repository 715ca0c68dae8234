/** Resource models: what one message and one consumer cost, fitted, corrected and bounded. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";

import { FitPanel } from "./fit-panel";
import { FitsTable } from "./fits-table";
import { OnlinePanels } from "./online-panels";
import { SettingsForm } from "./settings-form";

import { calibrationSettingsQuery, fitQuery, fitRequest, fitsQuery } from "@/api/calibration";
import { useLive } from "@/api/live";
import { keys } from "@/api/query-keys";
import { useSystem } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Note } from "@/components/ui/dialogs";
import { PageHead, Segments } from "@/components/ui/page";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { useCurrentSystemIs } from "@/lib/current-system";
import { to } from "@/lib/kinds";
import { problemOf } from "@/lib/problem";

/** Samples are kept for half an hour; of more than that, sums by minute are. */
const SPANS = {
  "30": { label: "30 min", words: "half hour" },
  "1440": { label: "1 d", words: "day" },
  "10080": { label: "7 d", words: "7 days" },
  "43200": { label: "30 d", words: "30 days" },
} as const;
type Span = keyof typeof SPANS;
const SPAN_OPTIONS = (["30", "1440", "10080", "43200"] as const).map((value) => ({
  value,
  label: SPANS[value].label,
}));

export default function CalibrationPage() {
  const { systemId = "" } = useParams();
  return <Calibration key={systemId} system={systemId} />;
}

type Asked = { id: string; number: number; span: Span } | null;

function Calibration({ system: systemId }: { system: string }) {
  useCurrentSystemIs(systemId);
  const queries = useQueryClient();
  const system = useSystem(systemId);
  const fits = useQuery(fitsQuery(systemId));
  const settings = useQuery(calibrationSettingsQuery(systemId));
  const [params, setParams] = useSearchParams();
  const [error, setError] = useState<unknown>(null);
  const [asked, setAsked] = useState<Asked>(null);
  const [busy, setBusy] = useState(false);
  const [span, setSpan] = useState<Span>("30");
  const newest = fits.data?.results[0]?.id;
  const picked = params.get("fit") ?? newest;
  const run = useLive((all) => all.runs[asked?.id ?? ""]);
  const may = system.data?.allowed_commands.includes("optimize") ?? false;
  const ask = async () => {
    setBusy(true);
    setError(null);
    try {
      const made = await fitRequest(systemId, Number(span));
      setAsked({ id: made.id, number: made.number, span });
      setParams({}, { replace: true });
      await queries.invalidateQueries({ queryKey: keys.runs.all });
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <PageHead
        title="Resource models"
        crumbs={[{ label: system.data?.name ?? "System", to: `/systems/${systemId}` }]}
        plainFacts={<span>what one message and one consumer cost a broker</span>}
        commands={
          may ? (
            <>
              <Segments
                label="Telemetry of the last"
                value={span}
                options={SPAN_OPTIONS}
                onChange={setSpan}
              />
              <Command primary icon="chart" onClick={() => void ask()} disabled={busy}>
                Fit to telemetry
              </Command>
            </>
          ) : null
        }
      />
      <div className="main">
        {error ? <Note tone="bad">{problemOf(error).detail}</Note> : null}
        {asked ? (
          <Note tone={run?.state === "failed" ? "bad" : ""}>
            Run <Link to={to.run(asked.id)}>R-{asked.number}</Link>{" "}
            {run?.state === "failed"
              ? `failed: ${run.failure}`
              : run?.state === "succeeded"
                ? "has fitted the model; its answer is the newest below."
                : `fits the model to the telemetry of the last ${SPANS[asked.span].words}.`}
          </Note>
        ) : null}
        <div className="cols c-8-4">
          <div className="stack">
            <Panel title="Fits" sub="newest first" flush>
              <QueryBody query={fits} what="The fits" rows={3}>
                {({ results }) =>
                  results.length === 0 ? (
                    <Empty>
                      Nothing was fitted yet. Let agents measure at different rates and with
                      different numbers of consumers, then fit.
                    </Empty>
                  ) : (
                    <FitsTable
                      fits={results}
                      picked={picked ?? null}
                      onPick={(id) => setParams({ fit: id }, { replace: true })}
                    />
                  )
                }
              </QueryBody>
            </Panel>
            <OnlinePanels
              system={systemId}
              correcting={settings.data?.correct_errors ?? false}
              bounding={settings.data?.bound_latency ?? false}
            />
          </div>
          <QueryBody query={settings} what="The settings" rows={6}>
            {(row) => <SettingsForm key={row.version} row={row} />}
          </QueryBody>
        </div>
        {picked ? <PickedFit system={systemId} id={picked} /> : null}
      </div>
    </>
  );
}

function PickedFit({ system, id }: { system: string; id: string }) {
  const fit = useQuery(fitQuery(system, id));
  return (
    <QueryBody query={fit} what="The fit" rows={8}>
      {(data) => <FitPanel key={`${data.id} ${data.version}`} fit={data} />}
    </QueryBody>
  );
}
