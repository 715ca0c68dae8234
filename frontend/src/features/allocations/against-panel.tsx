/** This allocation against another one, by default the one before. */
import type { Allocation, Comparison } from "@/api/allocations";
import { Panel } from "@/components/ui/panel";
import { Scroll } from "@/components/ui/scroll";
import { fixed, priceDecimals, relativeChange, signed } from "@/lib/numbers";

type Row = { name: string; before: string; after: string; change: React.ReactNode };

const moved = (before: number | null, after: number | null) =>
  before !== null && after !== null && before !== after;

const PLACES = 3;

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

function cause(comparison: Comparison): string | null {
  const capacities = comparison.node_capacities.filter((c) => moved(c.before, c.after));
  const [first] = capacities;
  if (first?.before === undefined || first.before === null || first.after === null) return null;
  const verb = first.after > first.before ? "raised" : "lowered";
  const others = capacities.length > 1 ? ` ${capacities.length - 1} more capacities changed.` : "";
  return `${placeOf(first.name, comparison)} was ${verb} from ${fixed(first.before)} to ${fixed(first.after)} unit/s.${others}`;
}

export function AgainstPanel({
  comparison,
  allocation,
  others,
  onOther,
}: {
  comparison: Comparison;
  allocation: Allocation;
  others: readonly Allocation[];
  onOther: (id: string) => void;
}) {
  const { utility, admitted, rates, populations } = comparison;
  const gain = (utility.after ?? 0) - (utility.before ?? 0);
  const changedRates = rates.filter((rate) => moved(rate.before, rate.after)).length;
  const changedClasses = populations.filter((row) => moved(row.before, row.after)).length;
  const same =
    gain === 0 &&
    changedRates === 0 &&
    changedClasses === 0 &&
    [...comparison.node_prices, ...comparison.link_prices].every(
      (price) => price.before === price.after,
    );
  const rows: Row[] = [
    {
      name: "Total utility",
      before: fixed(utility.before),
      after: fixed(utility.after),
      change: (
        <span className={gain > 0 ? "up" : gain < 0 ? "worse" : "same"}>
          {relativeChange(utility.after, utility.before)}
        </span>
      ),
    },
    {
      name: "Admitted",
      before: fixed(admitted.before),
      after: fixed(admitted.after),
      change: signed((admitted.after ?? 0) - (admitted.before ?? 0)),
    },
    ...priceRows(comparison),
  ];
  const version = comparison.other_model_version;
  const names = new Set(others.map((other) => other.id));
  return (
    <Panel
      title={`Against A-${comparison.other_number}`}
      sub={version === null ? undefined : `model v${version}`}
      right={
        others.length > 1 ? (
          <select
            className="inp"
            style={{ height: 26, fontSize: 12 }}
            aria-label="Compare with"
            value={comparison.other}
            onChange={(event) => onOther(event.target.value)}
          >
            {names.has(comparison.other) ? null : (
              <option value={comparison.other}>A-{comparison.other_number}</option>
            )}
            {others.map((other) => (
              <option key={other.id} value={other.id}>
                A-{other.number}
              </option>
            ))}
          </select>
        ) : undefined
      }
      flush
      footer={cause(comparison) ?? (same ? "The same numbers to the last bit." : undefined)}
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
              <td className="n faint">of {fixed(rates.length)}</td>
            </tr>
            <tr>
              <td>Classes that change</td>
              <td />
              <td className="n strong">{fixed(changedClasses)}</td>
              <td className="n faint">of {fixed(populations.length)}</td>
            </tr>
          </tbody>
        </table>
      </Scroll>
    </Panel>
  );
}
