/** Rate per flow against its bounds, with the previous rate. */
import type { FlowRate } from "@/api/allocations";
import { BoundBar } from "@/components/ui/bars";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Empty, Panel } from "@/components/ui/panel";
import { download, toCsv } from "@/lib/csv";
import { countText, fixed, rateChange, rateText } from "@/lib/numbers";

const FIRST = 15;

const atBound = (row: FlowRate): string | null => {
  if (row.rate_min_per_s === row.rate_max_per_s) return "fixed";
  const near = (bound: number) => Math.abs(row.rate_per_s - bound) <= 1e-9 * Math.max(1, bound);
  if (near(row.rate_min_per_s)) return "at min";
  return near(row.rate_max_per_s) ? "at max" : null;
};

function Legend({ previous }: { previous: boolean }) {
  return (
    <span className="legend">
      <span>
        <svg width="14" height="12" aria-hidden="true">
          <rect y="2" width="14" height="8" rx="2" fill="var(--c1)" />
        </svg>
        rate
      </span>
      <span>
        <svg width="14" height="12" aria-hidden="true">
          <rect y="4" width="14" height="4" className="gho" />
        </svg>
        allowed
      </span>
      {previous ? (
        <span>
          <svg width="6" height="12" aria-hidden="true">
            <path d="M3 0V12" stroke="var(--before)" strokeWidth="1.5" strokeDasharray="2 1.5" />
          </svg>
          previous
        </span>
      ) : null}
    </span>
  );
}

function bounds(rows: readonly FlowRate[]): string {
  const lows = new Set(rows.map((row) => row.rate_min_per_s));
  const highs = new Set(rows.map((row) => row.rate_max_per_s));
  const [low] = lows;
  const [high] = highs;
  if (lows.size === 1 && highs.size === 1 && low !== undefined && high !== undefined) {
    return `bounds ${fixed(low)} to ${fixed(high)} msg/s`;
  }
  return "each between its own bounds";
}

export function RatesPanel({
  name,
  rows,
  count,
  former,
}: {
  name: string;
  rows: readonly FlowRate[];
  count: number;
  former: ReadonlyMap<string, number | null>;
}) {
  const compared = former.size > 0;
  const paged = usePaged(rows, FIRST, "rates");
  const { visible } = paged;
  const columns: Column<FlowRate>[] = [
    {
      key: "flow",
      title: "Flow",
      cell: (row) => (
        <div className="name ent" title={row.flow}>
          {row.flow}
        </div>
      ),
    },
    {
      key: "nodes",
      title: "Nodes",
      cell: (row) => (
        <span className="clip" title={row.nodes.join(" ")}>
          {row.nodes.slice(0, 3).join(" ")}
          {row.nodes.length > 3 ? ` +${row.nodes.length - 3}` : ""}
        </span>
      ),
    },
    {
      key: "rate",
      title: "Rate",
      unit: "msg/s",
      number: true,
      strong: true,
      cell: (row) => rateText(row.rate_per_s),
    },
    ...(compared
      ? [
          {
            key: "change",
            title: "Change",
            number: true,
            cell: (row: FlowRate) => {
              const text = rateChange(row.rate_per_s, former.get(row.flow));
              return <span className={text === "\u00b10" ? "same" : undefined}>{text}</span>;
            },
          },
        ]
      : []),
    {
      key: "bar",
      title: "Between its bounds",
      cell: (row) => (
        <BoundBar
          value={row.rate_per_s}
          min={row.rate_min_per_s}
          max={row.rate_max_per_s}
          previous={former.get(row.flow) ?? null}
        />
      ),
    },
    { key: "admitted", title: "Admitted", number: true, cell: (row) => fixed(row.admitted) },
    {
      key: "wanted",
      title: "Wanted",
      number: true,
      cell: (row) => <span className="faint">{fixed(row.wanted)}</span>,
    },
    { key: "utility", title: "Utility", number: true, cell: (row) => fixed(row.utility) },
    {
      key: "bound",
      title: "At a bound",
      cell: (row) => {
        const where = atBound(row);
        return where ? <span className="tag out">{where}</span> : null;
      },
    },
  ];
  const save = () =>
    download(
      `${name} rates.csv`,
      toCsv(
        ["flow", "rate_per_s", "rate_min_per_s", "rate_max_per_s", "admitted", "wanted", "utility"],
        rows.map((row) => [
          row.flow,
          row.rate_per_s,
          row.rate_min_per_s,
          row.rate_max_per_s,
          row.admitted,
          row.wanted,
          row.utility,
        ]),
      ),
    );
  return (
    <Panel
      title="Rates against bounds"
      sub={`${countText(count, "flow")}, ${bounds(rows)}, log scale`}
      right={
        <>
          <Legend previous={compared} />
          <button type="button" className="btn sm" onClick={save}>
            <Icon name="download" small />
            CSV
          </button>
        </>
      }
      flush
      footer={paged.open || paged.close ? <PageFoot paged={paged} what="flows" /> : undefined}
    >
      {rows.length === 0 ? (
        <Empty>The problem has no flows.</Empty>
      ) : (
        <DataTable
          label="Rates against bounds"
          columns={columns}
          rows={visible}
          rowKey={(row) => row.flow}
        />
      )}
    </Panel>
  );
}
