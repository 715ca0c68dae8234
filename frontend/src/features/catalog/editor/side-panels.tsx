/** Beside the curve: what it gives at the rate in force, and who uses it. */
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "react-router";

import type { FlowSituation, UsingClass } from "./situation";

import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { Select } from "@/components/ui/select";
import { to } from "@/lib/kinds";
import { countText, fixed, priceText, rateText, significant } from "@/lib/numbers";

const SHOWN = 12;
/** Names of nodes that fit beside a price. */
const SHORT = 10;

export function AtRatePanel({
  allocation,
  flows,
  flow,
  onFlow,
  draft,
  draftSlope,
  stored,
  storedName,
  hasPrices,
}: {
  allocation: string;
  flows: readonly FlowSituation[];
  flow: FlowSituation;
  onFlow: (flow: string) => void;
  draft: number;
  draftSlope: number;
  /** What the stored function gives; null while the draft is the same. */
  stored: number | null;
  storedName: string;
  /** Whether anything in the allocation has a price. */
  hasPrices: boolean;
}) {
  const priced = flow.price > 0;
  const names = flow.nodes.join(" and ");
  const where = names.length > SHORT ? `${flow.nodes.length} nodes` : names;
  return (
    <Panel
      title={`At the rate of ${allocation}`}
      right={
        flows.length > 1 ? (
          <Select
            className="headpick"
            label="Flow"
            value={flow.flow}
            options={flows.map((one) => ({
              value: one.flow,
              label: `${one.flow}, ${rateText(one.rate)} msg/s`,
            }))}
            onChange={onFlow}
          />
        ) : (
          `${flow.flow}, ${rateText(flow.rate)} msg/s`
        )
      }
      footer={
        priced
          ? `Where the curve gets flatter than the price line, a higher rate costs one consumer more than it brings. The rate of ${flow.flow} is set by all of its consumers together.`
          : hasPrices
            ? `Nothing that these consumers take is scarce now: more rate costs nothing.`
            : `${allocation} has no prices: nothing in it is scarce, or its method gives none.`
      }
    >
      <dl className="kv">
        <dt>Utility of one consumer</dt>
        <dd>{significant(draft, 4)}</dd>
        {stored === null ? null : (
          <>
            <dt>{storedName} gives</dt>
            <dd>{significant(stored, 4)}</dd>
          </>
        )}
        <dt>Gain of one more msg/s</dt>
        <dd>{significant(draftSlope, 3)}</dd>
        <dt>Price of one more msg/s</dt>
        <dd>
          {priced ? priceText(flow.price) : "0"}
          {priced && where ? (
            <span className="u">
              {flow.nodes.length > 1 ? "mean of " : "at "}
              {where}
            </span>
          ) : null}
        </dd>
      </dl>
    </Panel>
  );
}

export function UsedByPanel({
  system,
  utility,
  classes,
}: {
  system: string;
  utility: string;
  classes: UseQueryResult<UsingClass[]>;
}) {
  return (
    <Panel
      title="Used by"
      sub={classes.data ? countText(classes.data.length, "class", "classes") : undefined}
      flush
      footer={
        classes.data && classes.data.length > SHOWN ? (
          <Link to={`${to.kind(system, "consumer-classes")}?utility=${utility}`}>
            All {fixed(classes.data.length)}
          </Link>
        ) : undefined
      }
    >
      <QueryBody query={classes} what="The classes" rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>No class uses it yet, so saving changes no allocation.</Empty>
          ) : (
            <table className="tbl usedby" aria-label="Used by">
              <thead>
                <tr>
                  <th scope="col">Class</th>
                  <th scope="col">Where</th>
                  <th className="n" scope="col">
                    Consumers
                  </th>
                </tr>
              </thead>
              <tbody>
                {rows.slice(0, SHOWN).map((row) => (
                  <tr key={row.id}>
                    <td className="ent" title={row.name}>
                      <Link to={to.object(system, "consumer-classes", row.id)}>{row.name}</Link>
                    </td>
                    <td title={`${row.topic_name} at ${row.broker_name}`}>
                      {row.topic_name} at {row.broker_name}
                    </td>
                    <td className="n">{fixed(row.population_max)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </QueryBody>
    </Panel>
  );
}
