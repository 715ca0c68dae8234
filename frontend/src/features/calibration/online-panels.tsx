/** Between two fits: error-correction factors as they move, and what reliable producers can send. */
import { useQuery } from "@tanstack/react-query";

import { calibrationStateQuery, type Correction, type LatencyBound } from "@/api/calibration";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { UnitNumber } from "@/components/ui/unit-number";
import { fixed, rateText, significant } from "@/lib/numbers";

const stale = (row: { stale: boolean }) =>
  row.stale ? (
    <Badge tone="warn" icon="clockx" title="Not measured in the last 30 seconds.">
      Stale
    </Badge>
  ) : null;

function Clamp({ row }: { row: Correction }) {
  if (row.clamped === "") return stale(row);
  return (
    <Badge
      tone="warn"
      icon="crest"
      title="The newest ratio lies outside the limits; the model is further off than may be corrected. Fit again."
    >
      {row.clamped === "high" ? "Clamped above" : "Clamped below"}
    </Badge>
  );
}

const FACTORS: Column<Correction>[] = [
  { key: "broker", title: "Broker", cell: (row) => <b>{row.broker_name}</b> },
  { key: "resource", title: "Resource", cell: (row) => row.resource },
  {
    key: "predicted",
    title: "Predicted",
    number: true,
    cell: (row) => significant(row.predicted, 4),
  },
  { key: "measured", title: "Measured", number: true, cell: (row) => significant(row.measured, 4) },
  { key: "ratio", title: "Ratio, smoothed", number: true, cell: (row) => fixed(row.ratio, 3) },
  {
    key: "factor",
    title: "Factor",
    number: true,
    strong: true,
    cell: (row) => fixed(row.factor, 3),
  },
  { key: "clamp", title: "Limits", cell: (row) => <Clamp row={row} /> },
];

const BOUNDS: Column<LatencyBound>[] = [
  { key: "topic", title: "Topic", cell: (row) => <b>{row.topic_name}</b> },
  {
    key: "ack",
    title: "Acknowledged in",
    number: true,
    cell: (row) => <UnitNumber as="duration" value={row.ack_s} />,
  },
  { key: "producers", title: "Producers", number: true, cell: (row) => fixed(row.producers) },
  {
    key: "bound",
    title: "Can send",
    unit: "msg/s",
    number: true,
    strong: true,
    cell: (row) => rateText(row.bound_per_s),
  },
  {
    key: "max",
    title: "Highest rate",
    unit: "msg/s",
    number: true,
    cell: (row) => rateText(row.rate_max_per_s),
  },
  {
    key: "binds",
    title: "Bound",
    cell: (row) =>
      row.bound_per_s !== null && row.bound_per_s < row.rate_max_per_s ? (
        <Badge tone="warn" icon="crest">
          Below the highest rate
        </Badge>
      ) : (
        stale(row)
      ),
  },
];

export function OnlinePanels({
  system,
  correcting,
  bounding,
}: {
  system: string;
  correcting: boolean;
  bounding: boolean;
}) {
  const state = useQuery(calibrationStateQuery(system));
  const badge = (on: boolean) =>
    on ? (
      <Badge tone="active" icon="check">
        In snapshots
      </Badge>
    ) : (
      <span className="faint">shown only; snapshots do not use it</span>
    );
  return (
    <>
      <Panel
        title="Error correction"
        sub="measured over predicted load, every few seconds"
        right={badge(correcting)}
        flush
      >
        <QueryBody query={state} what="The corrections" rows={4}>
          {({ corrections }) =>
            corrections.length === 0 ? (
              <Empty>
                No broker reports its processor yet. Factors appear when agents measure and messages
                flow.
              </Empty>
            ) : (
              <DataTable
                label="Error correction"
                columns={FACTORS}
                rows={corrections}
                rowKey={(row) => `${row.broker} ${row.resource}`}
              />
            )
          }
        </QueryBody>
      </Panel>
      <Panel
        title="Latency bounds"
        sub="producers of reliable topics wait for acknowledgements"
        right={badge(bounding)}
        flush
      >
        <QueryBody query={state} what="The bounds" rows={3}>
          {({ latency_bounds }) =>
            latency_bounds.length === 0 ? (
              <Empty>No acknowledgement of a reliable topic was measured yet.</Empty>
            ) : (
              <DataTable
                label="Latency bounds"
                columns={BOUNDS}
                rows={latency_bounds}
                rowKey={(row) => row.topic}
              />
            )
          }
        </QueryBody>
      </Panel>
    </>
  );
}
