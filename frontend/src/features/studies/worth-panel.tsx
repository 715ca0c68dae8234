/** Where one more unit is best spent now, and how a budget would be divided. */
import { useMemo, useState } from "react";

import { linesOf } from "./points";
import { atText, xOf } from "./frontier-option";
import type { Axis, SweepSpec } from "./spec";

import type { StudyPoint } from "@/api/studies";
import { ChartPanel } from "@/components/ui/chart-frame";
import { ChoiceField } from "@/components/ui/fields";
import { Panel } from "@/components/ui/panel";
import { Scroll } from "@/components/ui/scroll";
import { fixed, priceText, relativeChange, signed, UNKNOWN } from "@/lib/numbers";

type Price = StudyPoint["prices"][number];

const placeOf = (price: Price) =>
  price.kind === "link" ? `link ${price.id}` : `${price.resource ?? ""} at ${price.id}`;

/** Prices of the model as it is, dearest unit first within each resource. */
export function WorthPanel({ base }: { base: StudyPoint | undefined }) {
  const rows = [...(base?.prices ?? [])].sort((a, b) => b.price - a.price);
  const [dearest] = rows;
  return (
    <Panel title="Where one more unit is best spent" sub="the model as it is">
      {dearest ? (
        <>
          <p className="lead">
            One more unit/s of {placeOf(dearest)} is worth <b>{priceText(dearest.price)}</b> utility
            {rows.length > 1
              ? ": more than anywhere else that is scarce"
              : "; nothing else is scarce"}
            .
          </p>
          <table className="tbl bare" aria-label="Worth of one more unit by place">
            <thead>
              <tr>
                <th scope="col">Place</th>
                <th scope="col" className="n">
                  One more unit/s<span className="u">utility</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((price) => (
                <tr key={`${price.kind} ${price.id} ${price.resource ?? ""}`}>
                  <td className="ent">{placeOf(price)}</td>
                  <td className="n strong">{priceText(price.price)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      ) : (
        <p className="muted">
          {base && base.utility !== null
            ? "Nothing is scarce: more capacity would add no utility."
            : "Known when the model as it is has been solved."}
        </p>
      )}
    </Panel>
  );
}

/** What each broker gets of the budget, beside what it has. */
export function DivisionPanel({
  spec,
  axis,
  points,
  base,
  name,
}: {
  spec: SweepSpec;
  axis: Axis;
  points: readonly StudyPoint[];
  base: StudyPoint | undefined;
  name: string;
}) {
  const line = useMemo(() => {
    const lines = linesOf(spec, points);
    return lines.find((one) => one.label.includes("worth most")) ?? lines[0];
  }, [spec, points]);
  const answers = (line?.points ?? []).filter((point) => point.utility !== null);
  const x = xOf(axis);
  const [chosen, setChosen] = useState<string>("");
  const nearest = answers.reduce<StudyPoint | undefined>(
    (found, point) =>
      found === undefined || Math.abs(x(point) - 100) < Math.abs(x(found) - 100) ? point : found,
    undefined,
  );
  const point = answers.find((one) => String(x(one)) === chosen) ?? nearest;
  if (!point) return null;
  const now = base?.division ?? {};
  const rows = Object.entries(point.division)
    .map(([broker, gets]) => ({ broker, gets, has: now[broker] ?? null }))
    .sort((a, b) => b.gets - a.gets);
  const largest = Math.max(1e-12, ...rows.flatMap((row) => [row.gets, row.has ?? 0]));
  return (
    <ChartPanel
      title="What each broker gets"
      sub={`${String(axis.edit.resource)} unit/s; dashed: today`}
      data={{
        name: `${name} division`,
        head: ["Budget", "Broker", "Gets", "Has"],
        rows: answers.flatMap((one) =>
          Object.entries(one.division).map(([broker, gets]) => [x(one), broker, gets, now[broker]]),
        ),
      }}
      format={(cell, column) =>
        typeof cell !== "number" ? (cell ?? UNKNOWN) : fixed(cell, column === 0 && cell % 1 ? 1 : 0)
      }
    >
      <div className="divisionhead">
        <ChoiceField
          label="Budget"
          options={answers.map((one) => ({ value: String(x(one)), label: atText(axis, x(one)) }))}
          value={String(x(point))}
          onChange={setChosen}
        />
        <p className="lead">
          Utility {fixed(point.utility, 1)}, {relativeChange(point.utility, base?.utility)} against
          the model as it is.
        </p>
      </div>
      <Scroll label="What each broker gets" maxHeight={320}>
        <table className="tbl bare" aria-label="Division of the budget">
          <thead>
            <tr>
              <th scope="col">Broker</th>
              <th scope="col">Share</th>
              <th scope="col" className="n">
                Gets
              </th>
              <th scope="col" className="n">
                Change
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ broker, gets, has }) => (
              <tr key={broker}>
                <td className="ent">{broker}</td>
                <td>
                  <svg
                    className="bar"
                    width="120"
                    height="14"
                    role="img"
                    aria-label={`${broker}: ${fixed(gets)} of capacity${has === null ? "" : `, today ${fixed(has)}`}`}
                  >
                    <rect y="3" width="120" height="8" rx="2" fill="var(--well)" />
                    <rect y="3" width={(gets / largest) * 118} height="8" rx="2" fill="var(--c1)" />
                    {has === null ? null : (
                      <path
                        d={`M${(has / largest) * 118} 0V14`}
                        stroke="var(--before)"
                        strokeWidth="2"
                        strokeDasharray="3 2"
                      />
                    )}
                  </svg>
                </td>
                <td className="n strong">{fixed(gets)}</td>
                <td className="n">{has === null ? UNKNOWN : signed(gets - has)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </ChartPanel>
  );
}
