/** Before and after: every number the plan changes, largest change first, and on demand what stays. */
import { useMemo, useState } from "react";

import { changeRows, inWords, type ChangeGroup, type ChangeRow, type Kept } from "./change-rows";

import type { PlanDetail } from "@/api/plans";
import { Segments } from "@/components/ui/page";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Empty, Panel } from "@/components/ui/panel";
import { Scroll } from "@/components/ui/scroll";
import {
  countText,
  fixed,
  rateText,
  rateChange,
  relativeChange,
  signed,
  UNKNOWN,
} from "@/lib/numbers";

const FIRST = 10;
const WIDTH = 116;

function ChangeBar({ row, most }: { row: ChangeRow; most: number }) {
  const at = (value: number) => (most > 0 ? (value / most) * WIDTH : 0);
  return (
    <svg
      className="bar"
      width={WIDTH + 2}
      height="14"
      viewBox={`-1 -2 ${WIDTH + 2} 14`}
      aria-hidden="true"
    >
      <rect className="trk" width={WIDTH} height="10" rx="2" />
      {row.after === null ? (
        <rect width={WIDTH} height="10" rx="2" fill="url(#ghosth)" />
      ) : (
        <rect
          width={Math.max(row.after > 0 ? 2 : 0, at(row.after))}
          height="10"
          rx="2"
          fill="var(--c1)"
        />
      )}
      {row.before === null ? null : (
        <path
          d={`M${at(row.before)} -2V12`}
          stroke="var(--before)"
          strokeWidth="1.5"
          strokeDasharray="2 1.5"
        />
      )}
    </svg>
  );
}

/** One number of decimals a column: counts are whole, buckets may hold parts of a message. */
const decimalsOf = (group: ChangeGroup) =>
  group.rows.every((row) => Number.isInteger(row.before ?? 0) && Number.isInteger(row.after ?? 0))
    ? 0
    : 1;

/** Words stand for a missing number where there is nothing to limit: there "no limit" would be wrong. */
const figure = (unit: string, value: number | null, decimals: number, words = "") =>
  value === null && words ? (
    <span className="faint">{words}</span>
  ) : value === null ? (
    <span className="faint" title="Nothing limits it">
      no limit
    </span>
  ) : unit === "msg/s" ? (
    rateText(value)
  ) : (
    fixed(value, decimals)
  );

function changeText(row: ChangeRow, decimals: number): React.ReactNode {
  if (row.before === null) return row.after === null ? UNKNOWN : row.was ? "new" : "now limited";
  if (row.after === null) return row.becomes ? "ends" : "freed";
  const relative = relativeChange(row.after, row.before);
  return (
    <span title={relative === UNKNOWN ? undefined : relative}>
      {row.unit === "msg/s"
        ? rateChange(row.after, row.before)
        : signed(row.after - row.before, decimals)}
    </span>
  );
}

/** One quantity with those of its rows that are shown. */
function GroupRows({ group, rows }: { group: ChangeGroup; rows: readonly ChangeRow[] }) {
  const most = Math.max(0, ...group.rows.flatMap((row) => [row.before ?? 0, row.after ?? 0]));
  const links = group.unit === "link";
  const decimals = decimalsOf(group);
  return (
    <tbody>
      <tr className="sec">
        <th scope="col">{group.word}</th>
        <th scope="col">{links ? "Link" : <span className="vh">Drawing</span>}</th>
        <th className="n" scope="col">
          Before{links ? null : <span className="u">{group.unit}</span>}
        </th>
        <th className="n" scope="col">
          After{links ? null : <span className="u">{group.unit}</span>}
        </th>
        <th className="n" scope="col">
          Change
        </th>
        <th className="n" scope="col">
          In step
        </th>
        <th className="reason" scope="col">
          Why
        </th>
      </tr>
      {rows.map((row) => (
        <tr key={row.key}>
          <td className="ent" title={row.reason || undefined}>
            <div className="name">{row.label}</div>
          </td>
          {links ? (
            <>
              <td>
                {row.after === 0 ? (
                  <span className="tag before">{"\u2212"}</span>
                ) : (
                  <span className="tag after">+</span>
                )}
              </td>
              <td className="n">{row.before === 0 ? "absent" : "in place"}</td>
              <td className="n strong">{row.after === 0 ? "removed" : "in place"}</td>
              <td className="n">{row.after === 0 ? "leaves" : "joins"}</td>
            </>
          ) : inWords(row) && group.unit === "" ? (
            <>
              <td />
              <td className="n faint">{row.was || "none"}</td>
              <td className="n strong">{row.becomes || "none"}</td>
              <td className="n">{!row.was ? "new" : row.becomes ? "changes" : "ends"}</td>
            </>
          ) : (
            <>
              <td>
                <ChangeBar row={row} most={most} />
              </td>
              <td className="n faint">
                {figure(row.unit, row.before, decimals, row.was)}
                {row.measured === undefined || row.measured === null ? null : (
                  <div className="two">
                    {figure(row.unit, row.measured, 0)}{" "}
                    {row.unit === "consumers" ? "connected now" : "passes now"}
                  </div>
                )}
              </td>
              <td className="n strong">{figure(row.unit, row.after, decimals, row.becomes)}</td>
              <td className="n">
                {row.step === null ? (
                  <span className="same">{"\u00b10"}</span>
                ) : (
                  changeText(row, decimals)
                )}
              </td>
            </>
          )}
          <td className="n">{row.step === null ? UNKNOWN : row.step + 1}</td>
          <td className="reason">{row.reason}</td>
        </tr>
      ))}
    </tbody>
  );
}

type Shown = { group: ChangeGroup; row: ChangeRow };

const shownOf = (groups: readonly ChangeGroup[], most = Infinity): Shown[] =>
  groups.flatMap((group) => group.rows.slice(0, most).map((row) => ({ group, row })));

/** Rows side by side with others of their quantity again. */
function grouped(shown: readonly Shown[]): { group: ChangeGroup; rows: ChangeRow[] }[] {
  const groups = new Map<ChangeGroup, ChangeRow[]>();
  for (const { group, row } of shown) {
    const rows = groups.get(group);
    if (rows) rows.push(row);
    else groups.set(group, [row]);
  }
  return [...groups].map(([group, rows]) => ({ group, rows }));
}

export function ChangesPanel({ plan, kept }: { plan: PlanDetail; kept: readonly Kept[] }) {
  const [show, setShow] = useState<"changes" | "everything">("changes");
  const groups = useMemo(
    () => changeRows(plan.changes, show === "everything" ? kept : []),
    [plan.changes, kept, show],
  );
  const all = useMemo(() => shownOf(groups), [groups]);
  // Folded each quantity shows its largest changes.
  const first = useMemo(() => shownOf(groups, FIRST), [groups]);
  const paged = usePaged(all, first.length, `${plan.id} ${show}`);
  const shown = paged.open ? first : paged.visible;
  return (
    <Panel
      title="Before and after"
      sub="what is in force against what the plan leaves behind"
      right={
        kept.length === 0 ? undefined : (
          <Segments
            label="Rows"
            value={show}
            options={[
              { value: "changes", label: "Changes" },
              { value: "everything", label: "Everything" },
            ]}
            onChange={setShow}
          />
        )
      }
      flush
      footer={
        paged.open || paged.close ? (
          <PageFoot paged={paged} what="rows" />
        ) : show === "everything" ? (
          `${countText(plan.changes.length, "number")} of ${fixed(plan.changes.length + kept.length)} change.`
        ) : undefined
      }
    >
      {groups.length === 0 ? (
        <Empty>No number changes.</Empty>
      ) : (
        <Scroll label="Before and after" maxHeight={paged.close ? 640 : undefined}>
          <table className="tbl changes" aria-label="Before and after">
            {grouped(shown).map(({ group, rows }) => (
              <GroupRows key={group.key} group={group} rows={rows} />
            ))}
          </table>
        </Scroll>
      )}
    </Panel>
  );
}
