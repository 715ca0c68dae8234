/** Columns of the mean delay, measured beside predicted: only where something is promised of it. */
import type { Promised } from "@/api/placements";
import type { Column } from "@/components/ui/data-table";
import { delayScale, UNKNOWN, type Maybe } from "@/lib/numbers";

type Scale = ReturnType<typeof delayScale>;

/** What is predicted and measured of a mean; all of it may be missing. */
type Mean = {
  predicted_mean_s?: Maybe;
  mean_s?: Maybe;
  mean_low_s?: Maybe;
  mean_high_s?: Maybe;
};

const unknown = <span className="faint">{UNKNOWN}</span>;

/** "0.62 to 0.77", with the unit in the head of the column. */
export function Interval({ low, high, scale }: { low: number; high: number | null; scale: Scale }) {
  return high === null ? (
    <span title="Too little is measured to bound it.">from {scale.text(low)}</span>
  ) : (
    <>
      {scale.text(low)} to {scale.text(high)}
    </>
  );
}

/** `meanOf`: of a row; null for `mean_high_s` says that nothing bounds it above. */
export function meanColumns<Row>(
  rounds: readonly Promised[],
  rows: readonly Row[],
  meanOf: (row: Row) => Mean,
): Column<Row>[] {
  if (rounds.every(({ slo_mean_s: slo = null }) => slo === null)) return [];
  const scale = delayScale(
    rows.map(meanOf).flatMap((mean) => [mean.predicted_mean_s, mean.mean_s, mean.mean_low_s]),
  );
  const { unit } = scale;
  return [
    {
      key: "predicted_mean",
      title: "mean predicted",
      unit,
      number: true,
      cell: (row) => scale.text(meanOf(row).predicted_mean_s),
    },
    {
      key: "mean",
      title: "mean measured",
      unit,
      number: true,
      strong: true,
      cell: (row) => scale.text(meanOf(row).mean_s),
    },
    {
      key: "mean_interval",
      title: "95 % of the mean",
      unit,
      number: true,
      cell: (row) => {
        const { mean_low_s: low = null, mean_high_s: high = null } = meanOf(row);
        return low === null ? unknown : <Interval low={low} high={high} scale={scale} />;
      },
    },
  ];
}
