/** Measured against promised: the flows that change most as lines, every other promise as a row. */
import { useQueries, useQuery } from "@tanstack/react-query";

import { joined, measuredOf, promisedOf, type Promised } from "./measured";
import { MeasuredFrame, MeasuredLegend } from "./measured-frame";
import { PromiseChart } from "./promise-chart";

import type { PlanDetail } from "@/api/plans";
import { flowStatusQuery, seriesQuery, telemetryQuery } from "@/api/telemetry";
import { Scroll } from "@/components/ui/scroll";
import { fixed, rateText, UNKNOWN } from "@/lib/numbers";

const LINES = 3;
const ROWS = 10;
const SECONDS = 120;

type Now = {
  measured: number | null;
  /** What the rate controller asks for instead of the approved rate. */
  controlled: number | null;
};

function Row({ promised, now }: { promised: Promised; now: Now }) {
  const show = (value: number | null) =>
    value === null ? UNKNOWN : promised.kind === "rate" ? rateText(value) : fixed(value);
  return (
    <tr>
      <td title={`${promised.name} at ${promised.broker}`}>
        <b className="ent">{promised.name}</b>{" "}
        {promised.name.endsWith(`@${promised.broker}`) ? null : (
          <span className="faint">{promised.broker}</span>
        )}
      </td>
      <td className="n strong">
        {show(now.measured)}
        {now.controlled === null ? null : (
          <div className="two" title="The rate controller asks for this until the next plan">
            asks {show(now.controlled)}
          </div>
        )}
      </td>
      <td className="n" style={{ color: "var(--after)" }}>
        {promised.after === null ? promised.absent || "no limit" : show(promised.after)}
      </td>
    </tr>
  );
}

function Table({
  rows,
  title,
  unit,
  now,
}: {
  rows: readonly Promised[];
  title: string;
  unit: string;
  now: (row: Promised) => Now;
}) {
  if (rows.length === 0) return null;
  const more = rows.length - ROWS;
  return (
    <Scroll label={title}>
      <table className="tbl promised" aria-label={title}>
        <thead>
          <tr>
            <th scope="col">
              {title}
              <span className="u">{unit}</span>
            </th>
            <th className="n" scope="col">
              Now
            </th>
            <th className="n" scope="col">
              Promised
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, ROWS).map((row) => (
            <Row key={row.key} promised={row} now={now(row)} />
          ))}
          {more > 0 ? (
            <tr>
              <td colSpan={3} className="faint">
                {fixed(more)} more with smaller changes
              </td>
            </tr>
          ) : null}
        </tbody>
      </table>
    </Scroll>
  );
}

export function MeasuredPanel({
  plan,
  brokers,
}: {
  plan: PlanDetail;
  /** Id by name. */
  brokers: ReadonlyMap<string, string>;
}) {
  const telemetry = useQuery(telemetryQuery(plan.system));
  const status = useQuery(flowStatusQuery(plan.system));
  const promised = promisedOf(plan);
  const rates = promised.filter((row) => row.kind === "rate");
  const lines = rates.slice(0, LINES);
  const drawn = [...new Set(lines.map((line) => line.broker))].flatMap((name) => {
    const id = brokers.get(name);
    return id === undefined ? [] : [{ name, id }];
  });
  const stored = useQueries({ queries: drawn.map(({ id }) => seriesQuery(id, SECONDS / 60)) });
  const newest = (broker: string) =>
    telemetry.data?.latest.find((sample) => sample.broker_name === broker);
  const now = (row: Promised): Now => {
    const flow =
      row.kind === "rate" ? status.data?.flows.find((one) => one.flow === row.name) : undefined;
    // The mean of some seconds is steadier than one sample; without it the sample has to do.
    return {
      measured: flow?.passed_per_s ?? measuredOf(row, newest(row.broker)),
      controlled: flow?.controlled_per_s ?? null,
    };
  };
  return (
    <MeasuredFrame system={plan.system} rows={5}>
      {promised.length === 0 ? (
        <div className="body muted">This plan promises no rate and no admission.</div>
      ) : (
        <>
          {lines.length > 0 ? (
            <div className="body minis">
              {lines.map((line) => {
                const series = stored[drawn.findIndex(({ name }) => name === line.broker)];
                const samples = joined(
                  series?.data?.points ?? [],
                  telemetry.data?.heard[line.broker] ?? [],
                  SECONDS,
                );
                const points = samples.flatMap((sample) => {
                  const value = measuredOf(line, sample);
                  return value === null ? [] : [{ at: new Date(sample.at).getTime(), value }];
                });
                const name = `${line.name} passed at ${line.broker}`;
                return (
                  <div className="mini" key={line.key}>
                    <h3>
                      {name}
                      <span className="u">msg/s</span>
                    </h3>
                    <PromiseChart
                      label={name}
                      line={{ points, promised: line.after, unit: "msg/s" }}
                    />
                  </div>
                );
              })}
              <MeasuredLegend measured="measured" promised />
            </div>
          ) : null}
          <Table rows={rates.slice(LINES)} title="Flows" unit="msg/s" now={now} />
          <Table
            rows={promised.filter((row) => row.kind === "admitted")}
            title="Consumers"
            unit="admitted"
            now={now}
          />
        </>
      )}
    </MeasuredFrame>
  );
}
