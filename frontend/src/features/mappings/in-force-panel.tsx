/** What the map that is in force now costs, beside what a mapping promised; it falls step by step
 * while an execution moves flows. */
import { useQuery } from "@tanstack/react-query";
import { Fragment, useRef } from "react";
import { Link } from "react-router";

import { mappingsAt } from "./addresses";
import { LAYER_HEAD, LayerBars, layerRows, layerScale, type LayerBar } from "./layer-bars";
import { keptMap, type ChosenMap } from "./use-chosen-map";

import {
  mappingsQuery,
  useMapInForce,
  useMapping,
  type MapCosts,
  type MapInForce,
  type MapPoint,
  type MappingDetail,
} from "@/api/mappings";
import { ChartPanel, svgText } from "@/components/ui/chart-frame";
import { Note } from "@/components/ui/dialogs";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { countText, fixed, rateText, UNKNOWN } from "@/lib/numbers";

const TITLE = "In force now";

/** Of a mapping: what keeping the map costs, what it proposed, and what is chosen on its page. */
function promisedBars(mapping: MappingDetail, chosen: ChosenMap | undefined): LayerBar[] {
  const { points, proposed } = mapping.outcome;
  const names = new Map<MapPoint | undefined, string>();
  names.set(keptMap(mapping), "Kept");
  // Where nothing was worth a move the proposed map is the kept one.
  names.set(points[proposed], "Proposed");
  if (!names.has(chosen?.point)) names.set(chosen?.point, "Chosen");
  return [...names].flatMap(([point, name]) =>
    point === undefined ? [] : [{ ...point, name, isChosen: false }],
  );
}

export function InForcePanel({
  system,
  mapping,
  chosen,
}: {
  /** Its id. */
  system: string;
  /** What promised something; without one there is only what is now. */
  mapping?: MappingDetail;
  /** The map that its page is about. */
  chosen?: ChosenMap;
}) {
  const inForce = useMapInForce(system);
  const now = inForce.data;
  if (now?.costs) {
    return <NowChart now={now} costs={now.costs} mapping={mapping} chosen={chosen} />;
  }
  return (
    <Panel title={TITLE} flush>
      <QueryBody query={inForce} what="What is in force" rows={4}>
        {({ because }) => (
          <Empty>{because || "No topic is in a stream with a group: no map is in force."}</Empty>
        )}
      </QueryBody>
    </Panel>
  );
}

function NowChart({
  now,
  costs,
  mapping,
  chosen,
}: {
  now: MapInForce;
  costs: MapCosts;
  mapping: MappingDetail | undefined;
  chosen: ChosenMap | undefined;
}) {
  const picture = useRef<SVGSVGElement>(null);
  const bars = [
    { ...costs, name: "Now", isChosen: true },
    ...(now.measured ? [{ ...now.measured, name: "Measured", isChosen: true }] : []),
    ...(mapping ? promisedBars(mapping, chosen) : []),
  ];
  const { unit } = layerScale(bars);
  return (
    <ChartPanel
      title={TITLE}
      sub={mapping ? `${unit}, beside what ${mapping.name} promised` : unit}
      data={{ name: "map in force now", head: LAYER_HEAD, rows: layerRows(bars) }}
      svg={() => svgText(picture.current)}
      format={(cell) => (typeof cell === "number" ? rateText(cell) : (cell ?? UNKNOWN))}
      footer={<Since now={now} mapping={mapping} />}
      below={
        <InNumbers now={now} costs={costs} measured={measuredRows(now.measured, mapping, chosen)} />
      }
    >
      <LayerBars bars={bars} picture={picture} />
    </ChartPanel>
  );
}

type Row = readonly [name: string, value: string, unit: string];

function InNumbers({
  now,
  costs,
  measured,
}: {
  now: MapInForce;
  costs: MapCosts;
  measured: readonly Row[];
}) {
  const { wanted_flows: wanted, mapped_flows: mapped, missing_flows: missing, because } = now;
  const rows: readonly Row[] = [
    ["Wanted flows in a stream with a group", `${fixed(mapped)} of ${fixed(wanted)}`, ""],
    ["Flows that are wanted and in none", missing === 0 ? "none" : fixed(missing), ""],
    ["Handed to users that do not want it", rateText(costs.unwanted_per_s), "msg/s"],
    ["Dropped with whole streams", rateText(costs.dropped_per_s), "msg/s"],
    ...measured,
  ];
  return (
    <div className="movescurve inforce">
      {because ? <Note tone="warn">{because}</Note> : null}
      {missing > 0 ? (
        <Note tone="warn">
          {countText(missing, "flow")} that somebody wants {missing === 1 ? "is" : "are"} in no
          stream with a group: whoever wants {missing === 1 ? "it" : "them"} gets nothing of it.
          That costs no work, so it is not in the bar.
        </Note>
      ) : null}
      <dl className="kv">
        {rows.map(([name, value, unit]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>
              {value}
              {unit ? <span className="u">{unit}</span> : null}
            </dd>
          </Fragment>
        ))}
      </dl>
    </div>
  );
}

/** Publishers may send more than the model has of them, or less: what is filtered for each message
 * that somebody wanted compares with what a map promised, whatever the volume. */
function measuredRows(
  measured: MapInForce["measured"],
  mapping: MappingDetail | undefined,
  chosen: ChosenMap | undefined,
): Row[] {
  if (measured === null) return [];
  const { wanted_per_s: wanted, cost } = measured;
  const each = (work: number, messages: number) =>
    messages > 0 ? fixed(work / messages, 2) : UNKNOWN;
  const rows: Row[] = [
    ["Measured: wanted and received", rateText(wanted), "msg/s"],
    ["Measured: filtered for each of these", each(cost, wanted), "work"],
  ];
  const point = chosen?.point ?? mapping?.outcome.points[mapping.outcome.proposed];
  const promised = mapping?.outcome.wanted_per_s;
  if (point === undefined || promised === undefined || promised === null) return rows;
  const which = chosen?.isProposed === false ? "chosen" : "proposed";
  return [...rows, [`The ${which} map: filtered for each`, each(point.cost, promised), "work"]];
}

/** Costs of two moments are compared: by which rates and weights each was computed. */
function Since({ now, mapping }: { now: MapInForce; mapping: MappingDetail | undefined }) {
  const here = `By the rates and weights of now, model v${fixed(now.model_version)}`;
  const measured = now.measured
    ? ` Measured: by the rates that agents measured in the last ${fixed(now.measured.seconds)} s.`
    : "";
  if (mapping === undefined) return `${here}.${measured}`;
  return (
    <>
      {here}; <Link to={mappingsAt.one(mapping.system, mapping.id)}>{mapping.name}</Link> by those
      of model v{fixed(mapping.model_version)}.{measured}
    </>
  );
}

/** The same for a list: beside what the newest mapping of the system promised. */
export function InForceBesideNewest({ system }: { system: string }) {
  const newest = useQuery(mappingsQuery({ system, page_size: 1 })).data?.results[0];
  const mapping = useMapping(newest?.id ?? "", newest !== undefined).data;
  return <InForcePanel system={system} mapping={mapping} />;
}
