/** This allocation against another one, by default the one before. */
import { causeSentences } from "./causes";
import { scarcest } from "./outcome";

import { MOST_ROWS, type Allocation, type Comparison, type ResourceLoad } from "@/api/allocations";
import { Panel } from "@/components/ui/panel";
import { Select } from "@/components/ui/select";
import { Scroll } from "@/components/ui/scroll";
import { fixed, priceDecimals, relativeChange, signed, UNKNOWN } from "@/lib/numbers";

type Row = { name: string; before: string; after: string; change: React.ReactNode };

const moved = (before: number | null, after: number | null) =>
  before !== null && after !== null && before !== after;

const PLACES = 3;

/** Beyond what a comparison lists it is not known here how many there are. */
const ofAll = (rows: readonly unknown[]) =>
  rows.length < MOST_ROWS ? `of ${fixed(rows.length)}` : "";

/** Relative, unless it is so small that only the utility itself tells it. */
function gainText(after: number | null, before: number | null): string {
  const relative = relativeChange(after, before);
  const isHidden = relative === "\u00b10" && after !== before;
  return isHidden ? signed((after ?? 0) - (before ?? 0), 1) : relative;
}

/** One set of utility functions values both sides; before is null where the models are too large. */
function utilityRow(name: string, { before, after }: Comparison["utility"]): Row {
  const gain = before === null || after === null ? 0 : after - before;
  return {
    name,
    before: fixed(before),
    after: fixed(after),
    change: (
      <span className={gain > 0 ? "up" : gain < 0 ? "worse" : "same"}>
        {before === null ? UNKNOWN : gainText(after, before)}
      </span>
    ),
  };
}

/** "S1.cpu" is "S1" where every node has one resource only. */
function placeOf(name: string, comparison: Comparison): string {
  const resourceOf = (full: string) => full.slice(full.lastIndexOf(".") + 1);
  const resources = new Set(comparison.node_prices.map((price) => resourceOf(price.name)));
  const place = name.slice(0, name.lastIndexOf("."));
  return resources.size > 1 ? `${place}, ${resourceOf(name)}` : place;
}

function priceRows(comparison: Comparison): Row[] {
  const changed = comparison.node_prices
    .filter((price) => moved(price.before, price.after))
    .sort(
      (a, b) =>
        Math.abs((b.after ?? 0) - (b.before ?? 0)) - Math.abs((a.after ?? 0) - (a.before ?? 0)),
    )
    .slice(0, PLACES);
  const decimals = priceDecimals(changed.flatMap((price) => [price.before, price.after]));
  return changed
    .map((price) => ({
      name: `Price at ${placeOf(price.name, comparison)}`,
      before: fixed(price.before, decimals),
      after: fixed(price.after, decimals),
      change: relativeChange(price.after, price.before),
    }))
    .filter((row) => row.before !== row.after);
}

export function AgainstPanel({
  comparison,
  allocation,
  loads,
  others,
  onOther,
}: {
  comparison: Comparison;
  allocation: Allocation;
  loads: readonly ResourceLoad[];
  others: readonly Allocation[];
  onOther: (id: string) => void;
}) {
  const { utility, admitted, rates, populations } = comparison;
  const counts = comparison.changes_in_all;
  const { rate: changedRates, admitted: changedClasses } = counts;
  const same =
    utility.after === utility.before && Object.values(counts).every((count) => count === 0);
  const { utility_by_other: byOther } = comparison;
  const rows: Row[] = [
    ...(byOther
      ? [
          utilityRow(`Total utility, by the functions of A-${allocation.number}`, utility),
          utilityRow(`Total utility, by the functions of A-${comparison.other_number}`, byOther),
        ]
      : [utilityRow("Total utility", utility)]),
    {
      name: "Admitted",
      before: fixed(admitted.before),
      after: fixed(admitted.after),
      change: signed((admitted.after ?? 0) - (admitted.before ?? 0)),
    },
    ...priceRows(comparison),
  ];
  const version = comparison.other_model_version;
  const told = [
    comparison.other_in_force ? "in force" : null,
    version === null ? null : `model v${version}`,
    comparison.other_method === allocation.method ? null : `by ${comparison.other_method}`,
  ].filter((part) => part !== null);
  const priced = scarcest(loads)?.load;
  const place = priced ? placeOf(`${priced.name}.${priced.resource ?? ""}`, comparison) : null;
  const names = new Set(others.map((other) => other.id));
  return (
    <Panel
      title={`Against A-${comparison.other_number}`}
      sub={told.length > 0 ? told.join(", ") : undefined}
      right={
        others.length > 1 ? (
          <Select
            className="headpick"
            label="Compare with"
            value={comparison.other}
            options={[
              ...(names.has(comparison.other)
                ? []
                : [{ value: comparison.other, label: `A-${comparison.other_number}` }]),
              ...others.map((other) => ({ value: other.id, label: `A-${other.number}` })),
            ]}
            onChange={onOther}
          />
        ) : undefined
      }
      flush
      footer={
        same ? (
          "The same numbers to the last bit."
        ) : (
          <>
            {causeSentences(comparison, allocation.method)}
            {place ? ` ${place} is now the scarcest.` : ""}
          </>
        )
      }
    >
      <Scroll label={`Against A-${comparison.other_number}`}>
        <table className="tbl" aria-label={`Against A-${comparison.other_number}`}>
          <thead>
            <tr>
              <th scope="col">
                <span className="vh">Quantity</span>
              </th>
              <th className="n" scope="col">
                A-{comparison.other_number}
              </th>
              <th className="n" scope="col">
                A-{allocation.number}
              </th>
              <th className="n" scope="col">
                Change
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name}>
                <td>{row.name}</td>
                <td className="n">{row.before}</td>
                <td className="n strong">{row.after}</td>
                <td className="n">{row.change}</td>
              </tr>
            ))}
            <tr>
              <td>Rates that change</td>
              <td />
              <td className="n strong">{fixed(changedRates)}</td>
              <td className="n faint">{ofAll(rates)}</td>
            </tr>
            <tr>
              <td>Classes that change</td>
              <td />
              <td className="n strong">{fixed(changedClasses)}</td>
              <td className="n faint">{ofAll(populations)}</td>
            </tr>
          </tbody>
        </table>
      </Scroll>
    </Panel>
  );
}
