/** Scenarios by name: what each gains or costs against the model as it is. */
import { answered, change, compareBase, AS_IS, weighs } from "./points";
import type { Spec } from "./spec";

import type { StudyPoint } from "@/api/studies";
import { ChartPanel } from "@/components/ui/chart-frame";
import { Scroll } from "@/components/ui/scroll";
import { fixed, signed, UNKNOWN } from "@/lib/numbers";

const WIDTH = 240;
const MOST = 200;

function Bar({ value, largest, words }: { value: number; largest: number; words: string }) {
  const half = WIDTH / 2;
  const length = largest > 0 ? (Math.abs(value) / largest) * (half - 4) : 0;
  return (
    <svg className="bar" width={WIDTH} height="14" role="img" aria-label={words}>
      <rect
        x={value < 0 ? half - length : half}
        y="3"
        width={Math.max(length, 1)}
        height="8"
        fill={value < 0 ? "var(--before)" : "var(--after)"}
        rx="2"
      />
      <path className="crs" d={`M${half} 0V14`} />
    </svg>
  );
}

export function ImpactPanel({
  spec,
  points,
  methods,
  name,
}: {
  spec: Spec;
  points: readonly StudyPoint[];
  methods: readonly string[];
  name: string;
}) {
  const base = compareBase(spec, points);
  const rows = points
    .filter((point) => point.label !== AS_IS)
    .map((point) => ({ point, value: change(point, base) }))
    .sort((a, b) => (a.value ?? Infinity) - (b.value ?? Infinity));
  const largest = Math.max(0, ...rows.map((row) => Math.abs(row.value ?? 0)));
  return (
    <ChartPanel
      title="Against the model as it is"
      sub={
        weighs(spec)
          ? "not compared: scenarios differ in what consumers are worth"
          : `utility, the largest loss first${rows.length > MOST ? `; ${MOST} of ${fixed(rows.length)}` : ""}`
      }
      data={{
        name: `${name} impact`,
        head: ["Scenario", "Method", "Utility", "Change, %", "State"],
        rows: rows.map(({ point, value }) => [
          point.label,
          point.method,
          point.utility,
          value === null ? null : value * 100,
          point.status,
        ]),
      }}
      format={(cell, column) =>
        typeof cell !== "number" ? (cell ?? UNKNOWN) : fixed(cell, column === 2 ? 1 : 2)
      }
    >
      <Scroll label="Against the model as it is" maxHeight={460}>
        <table className="tbl bare" aria-label="Change of utility by scenario">
          <thead>
            <tr>
              <th scope="col">Scenario</th>
              {methods.length > 1 ? <th scope="col">Method</th> : null}
              <th scope="col">Change</th>
              <th scope="col" className="n">
                of utility<span className="u">%</span>
              </th>
              <th scope="col" className="n">
                Utility
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MOST).map(({ point, value }) => (
              <tr key={point.index}>
                <td className="ent">{point.label}</td>
                {methods.length > 1 ? <td>{point.method}</td> : null}
                <td>
                  {value === null ? (
                    <span className="faint" title={point.reason}>
                      {answered(point) ? UNKNOWN : point.status}
                    </span>
                  ) : (
                    <Bar
                      value={value}
                      largest={largest}
                      words={`${point.label}: ${signed(value * 100, 2)} percent`}
                    />
                  )}
                </td>
                <td className="n strong">{value === null ? UNKNOWN : signed(value * 100, 2)}</td>
                <td className="n">{fixed(point.utility, 1)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </ChartPanel>
  );
}
