/** What is expected of each topic and class in the next two days. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useSearchParams } from "react-router";

import { topicsFirst, unitOf } from "./words";

import {
  forecastQuery,
  forecastRequest,
  latestForecastQuery,
  type ForecastDetail,
  type ForecastSeries,
} from "@/api/demand";
import { useLive } from "@/api/live";
import { useSystem } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Note } from "@/components/ui/dialogs";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { Sparkline } from "@/components/ui/sparkline";
import { amountText } from "@/components/ui/wanted-table";
import { to } from "@/lib/kinds";
import { percentText } from "@/lib/numbers";
import { problemOf } from "@/lib/problem";
import { clockText } from "@/lib/time";

const FIRST = 15;
const HOUR_MS = 3_600_000;

const hourText = (first: string, hour: number) =>
  clockText(new Date(new Date(first).getTime() + hour * HOUR_MS));

function columnsOf(forecast: ForecastDetail): Column<ForecastSeries>[] {
  const hour = Math.floor((Date.now() - new Date(forecast.first_at).getTime()) / HOUR_MS);
  const fullest = (row: ForecastSeries) => row.high.indexOf(Math.max(...row.high));
  const ahead = (row: ForecastSeries, values: readonly number[]) =>
    amountText(row, values[Math.max(0, hour)] ?? null);
  return [
    {
      key: "name",
      title: "Topic or class",
      cell: (row) => (
        <b className="clip" title={row.name}>
          {row.name}
        </b>
      ),
    },
    { key: "unit", title: "Unit", cell: (row) => unitOf(row.subject) },
    {
      key: "season",
      title: "By",
      cell: (row) =>
        row.reason ? (
          <span className="faint">{row.reason}</span>
        ) : row.season === 168 ? (
          "hour of the week"
        ) : (
          "hour of the day"
        ),
    },
    {
      key: "error",
      title: "Off by",
      number: true,
      cell: (row) => (
        <span title="Median, an hour ahead, in the last week.">{percentText(row.error, 1)}</span>
      ),
    },
    { key: "mean", title: "This hour", number: true, cell: (row) => ahead(row, row.mean) },
    {
      key: "high",
      title: "Enough",
      number: true,
      strong: true,
      cell: (row) => ahead(row, row.high),
    },
    {
      key: "peak",
      title: "Fullest hour",
      number: true,
      cell: (row) => amountText(row, row.high[fullest(row)] ?? null),
    },
    {
      key: "when",
      title: "Beginning",
      unit: "UTC",
      number: true,
      cell: (row) => (row.reason ? null : hourText(forecast.first_at, fullest(row))),
    },
    {
      key: "shape",
      title: `Next ${forecast.hours} h`,
      cell: (row) =>
        row.reason ? null : <Sparkline values={row.mean} label={`Expected of ${row.name}`} />,
    },
  ];
}

export function ForecastPanel({ system }: { system: string }) {
  const [params] = useSearchParams();
  const latest = useQuery(latestForecastQuery(system));
  const may = useSystem(system).data?.allowed_commands.includes("optimize") ?? false;
  const [asked, setAsked] = useState<{ id: string; number: number } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const run = useLive((all) => all.runs[asked?.id ?? ""]);
  const ask = async () => {
    setBusy(true);
    setError(null);
    try {
      const made = await forecastRequest(system);
      setAsked({ id: made.id, number: made.number });
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  };
  const shown = params.get("forecast") ?? latest.data?.id ?? "";
  const forecast = useQuery({ ...forecastQuery(system, shown), enabled: shown !== "" });
  const paged = usePaged(topicsFirst(forecast.data?.series ?? []), FIRST, shown);
  return (
    <Panel
      title="Forecast"
      sub={
        forecast.data
          ? `${forecast.data.name}, ${forecast.data.hours} h from ${clockText(forecast.data.first_at)} UTC`
          : undefined
      }
      right={
        may ? (
          <Command icon="chart" onClick={() => void ask()} disabled={busy}>
            Forecast now
          </Command>
        ) : undefined
      }
      flush
      footer={
        paged.open || paged.close ? <PageFoot paged={paged} what="topics and classes" /> : undefined
      }
    >
      {error ? <Note tone="bad">{problemOf(error).detail}</Note> : null}
      {asked ? (
        <Note tone={run?.state === "failed" ? "bad" : ""}>
          Run <Link to={to.run(asked.id)}>R-{asked.number}</Link>{" "}
          {run?.state === "failed"
            ? `failed: ${run.failure}`
            : run?.state === "succeeded"
              ? "has forecast the demand; its answer is below."
              : "forecasts the demand by the last four weeks."}
        </Note>
      ) : null}
      <QueryBody query={latest} what="The forecast" rows={4}>
        {() =>
          shown === "" ? (
            <Empty>
              Nothing was forecast yet. Two days have to be measured; where a system uses forecasts,
              one is made every hour.
            </Empty>
          ) : (
            <QueryBody query={forecast} what="The forecast" rows={4}>
              {(data) => (
                <DataTable
                  label="Forecast"
                  columns={columnsOf(data)}
                  rows={paged.visible}
                  rowKey={(row) => `${row.subject} ${row.name}`}
                />
              )}
            </QueryBody>
          )
        }
      </QueryBody>
    </Panel>
  );
}
