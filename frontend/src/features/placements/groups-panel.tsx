/** Publishers that burst together, by broker: colours on each other, and a table of groups and brokers. */
import { useState } from "react";
import { Link } from "react-router";

import { GROUPS_SHOWN, groupRows, usedOf, type GroupRow } from "./outcome";

import type { Outcome, PlacementDetail } from "@/api/placements";
import { Empty, Panel } from "@/components/ui/panel";
import { Scroll } from "@/components/ui/scroll";
import { askAddress, listAddress } from "@/lib/computations";
import { countText, fixed } from "@/lib/numbers";

const NAMES_SHOWN = 3;
/** Brokers that have a bar; the table has them all. */
const BARS = 12;

const colourOf = (row: GroupRow, at: number) =>
  row.kind === "alone"
    ? "var(--ghost)"
    : at < GROUPS_SHOWN && row.kind === "group"
      ? `var(--c${at + 1})`
      : "var(--text-3)";

function Sentence({ groups }: { groups: Outcome["groups"] }) {
  const apart = groups.filter((group) => !group.within_one);
  if (apart.length === 0) return <>Every cell is within one publisher of its fair share.</>;
  const names = apart.map(({ name }) => name ?? "those without a group");
  return (
    <>
      {countText(apart.length, "group is", "groups are")} further than one publisher from the fair
      share: {names.slice(0, NAMES_SHOWN).join(", ")}
      {names.length > NAMES_SHOWN ? ` and ${fixed(names.length - NAMES_SHOWN)} more` : ""}. Pins,
      and publishers that stay where they are, count too.
    </>
  );
}

/** To the search for such groups in what publishers sent; who may start none sees what was found. */
function Search({
  placement: { system, topic, allowed_commands: allowed },
  className,
}: {
  placement: PlacementDetail;
  className?: string;
}) {
  const may = topic !== null && allowed.includes("rerun");
  return (
    <Link
      className={className}
      to={may ? askAddress("correlation", system, { topic }) : listAddress("correlation", system)}
    >
      {may ? "Look for publishers that burst together" : "Groups found in what was sent"}
    </Link>
  );
}

export function GroupsPanel({
  placement,
  outcome,
  waits,
}: {
  placement: PlacementDetail;
  /** In what-if another than the placement's. */
  outcome: Outcome;
  waits: boolean;
}) {
  const [all, setAll] = useState(false);
  const { groups } = outcome;
  const named = groups.filter(({ name }) => name !== null).length;
  const brokers = usedOf(outcome);
  const folded = groupRows(groups);
  const rows = all ? groupRows(groups, named) : folded;
  const largest = Math.max(1, ...brokers.map(({ publishers }) => publishers));
  const title = "Publishers that burst together";
  if (named === 0) {
    return (
      <Panel title={title}>
        <Empty command={<Search placement={placement} className="btn sm" />}>
          No publisher of the topic has a correlation key, so none is known to send at the same
          moment as another.
        </Empty>
      </Panel>
    );
  }
  return (
    <Panel
      title={title}
      flush
      stale={waits}
      footer={
        <>
          <Sentence groups={groups} /> <Search placement={placement} />.
          {named > GROUPS_SHOWN + 1 ? (
            <>
              {" "}
              <button type="button" className="link" onClick={() => setAll((on) => !on)}>
                {all ? "Show the largest" : `Show all ${fixed(named)} groups`}
              </button>
            </>
          ) : null}
        </>
      }
    >
      <div className="body groupbars">
        {brokers.slice(0, BARS).map((share) => (
          <div key={share.broker}>
            <b title={share.broker}>{share.broker}</b>
            <Bar rows={folded} broker={share.broker} largest={largest} />
            <span>{fixed(share.publishers)}</span>
          </div>
        ))}
        {brokers.length > BARS ? (
          <p className="lead">
            The first {fixed(BARS)} of {countText(brokers.length, "broker")}.
          </p>
        ) : null}
      </div>
      <Scroll label={title} maxHeight={420}>
        <table className="tbl" aria-label={title}>
          <thead>
            <tr>
              <th scope="col">Group</th>
              {brokers.map(({ broker }) => (
                <th key={broker} scope="col" className="n">
                  {broker}
                </th>
              ))}
              <th scope="col" className="n">
                All
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={`${row.kind} ${row.name}`}>
                <td>
                  <svg className="swatch" width="10" height="10" aria-hidden="true">
                    <rect width="10" height="10" rx="2" fill={colourOf(row, at)} />
                  </svg>{" "}
                  {row.name}
                </td>
                {brokers.map(({ broker }) => (
                  <td key={broker} className="n">
                    {fixed(row.byBroker[broker] ?? 0)}
                  </td>
                ))}
                <td className="n strong">{fixed(row.publishers)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Panel>
  );
}

/** One broker's publishers by group, as long as the broker with the most is wide. */
function Bar({
  rows,
  broker,
  largest,
}: {
  rows: readonly GroupRow[];
  broker: string;
  largest: number;
}) {
  const parts = rows
    .map((row, at) => ({ row, at, count: row.byBroker[broker] ?? 0 }))
    .filter(({ count }) => count > 0);
  const label = parts.map(({ row, count }) => `${row.name} ${fixed(count)}`).join(", ");
  return (
    <span className="groupbar" role="img" aria-label={`${broker}: ${label}`}>
      {parts.map(({ row, at, count }) => (
        <i
          key={`${row.kind} ${row.name}`}
          title={`${row.name}: ${countText(count, "publisher")}`}
          style={{ width: `${(count / largest) * 100}%`, background: colourOf(row, at) }}
        />
      ))}
    </span>
  );
}
