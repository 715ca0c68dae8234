/** The charts of a board, each of several questions about one time. */
import { NO_CRESTS, type ChartSpec, type Crest } from "./boards";
import { useMerged } from "./merged";
import { SeriesChart } from "./series-chart";
import { RANGES, type DelayKind, type Range } from "./sums";
import { DELAY_KINDS } from "./words";

import { Segments } from "@/components/ui/page";
import { Empty, Failure, Loading, Panel } from "@/components/ui/panel";

/** The time shown, in the head of a page. */
export const Ranges = ({
  value,
  onChange,
}: {
  value: Range;
  onChange: (range: string) => void;
}) => (
  <Segments
    label="Time"
    value={value}
    options={Object.entries(RANGES).map(([key, { label }]) => ({ value: key, label }))}
    onChange={onChange}
  />
);

export const DelayKinds = ({
  kinds,
  value,
  onChange,
}: {
  kinds: readonly DelayKind[];
  value: DelayKind;
  onChange: (kind: DelayKind) => void;
}) => (
  <Segments
    label="Delay"
    value={value}
    options={kinds.map((kind) => ({ value: kind, label: DELAY_KINDS[kind] }))}
    onChange={onChange}
  />
);

export function Charts({
  specs,
  system,
  range,
  crests = {},
  delay = null,
}: {
  specs: readonly ChartSpec[];
  system: string;
  range: Range;
  crests?: Readonly<Record<string, readonly Crest[]>>;
  /** Stands in the head of the chart of delays. */
  delay?: React.ReactNode;
}) {
  return (
    <div className="cols c-2">
      {specs.map((spec) => (
        <Chart
          key={spec.key}
          spec={spec}
          system={system}
          range={range}
          crests={crests[spec.key] ?? NO_CRESTS}
          right={spec.key === "delay" ? delay : null}
        />
      ))}
    </div>
  );
}

function Chart({
  spec,
  system,
  range,
  crests,
  right,
}: {
  spec: ChartSpec;
  system: string;
  range: Range;
  crests: readonly Crest[];
  right: React.ReactNode;
}) {
  const { data, failed, leftOut, isStale } = useMerged(system, range, spec.lines);
  if (data && data.series.length > 0) {
    return (
      <SeriesChart
        sums={data}
        title={spec.title}
        stale={isStale}
        right={right}
        crests={crests}
        limits={data.limits}
        leftOut={leftOut}
      />
    );
  }
  return (
    <Panel title={spec.title} right={right} stale={isStale}>
      {failed ? (
        <Failure error={failed.error} what={spec.title} retry={failed.retry} />
      ) : data ? (
        <Empty>{`Nothing of this was measured in the last ${RANGES[range].words}.`}</Empty>
      ) : (
        <Loading rows={6} />
      )}
    </Panel>
  );
}
