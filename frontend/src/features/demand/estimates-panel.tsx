/** The estimates that snapshots were made with, newest first, and the figures of one. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";

import { BASES, topicsFirst, unitOf } from "./words";

import {
  demandEstimateQuery,
  demandEstimatesQuery,
  type DemandEstimate,
  type DemandFigure,
} from "@/api/demand";
import { DataTable, type Column } from "@/components/ui/data-table";
import { createdColumn } from "@/components/ui/list-panel";
import { pagerOf, useListAddress } from "@/components/ui/list-tools";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { amountText } from "@/components/ui/wanted-table";
import { fixed, percentText, UNKNOWN } from "@/lib/numbers";
import { clockText } from "@/lib/time";

const FIRST = 15;

const COLUMNS: Column<DemandEstimate>[] = [
  { key: "name", title: "Estimate", cell: (row) => <b>{row.name}</b> },
  createdColumn("In use since"),
  { key: "basis", title: "Used", cell: (row) => BASES[row.basis] },
  { key: "because", title: "Why", cell: (row) => <div className="said">{row.because}</div> },
  {
    key: "change",
    title: "Largest change",
    number: true,
    strong: true,
    cell: (row) => percentText(row.largest_change, 1),
  },
  { key: "figures", title: "Figures", number: true, cell: (row) => fixed(row.figure_count) },
];

const FIGURES: Column<DemandFigure>[] = [
  {
    key: "name",
    title: "Topic or class",
    cell: (row) => (
      <b className="clip" title={row.name}>
        {row.name}
      </b>
    ),
  },
  { key: "unit", title: "Unit", cell: (row) => unitOf(row.subject) },
  {
    key: "minutes",
    title: "Measured in",
    unit: "min",
    number: true,
    cell: (row) =>
      row.high === null ? (
        UNKNOWN
      ) : row.minutes === 0 ? (
        <span
          className="faint"
          title="Not measured then: these are the figures of the estimate before."
        >
          earlier
        </span>
      ) : (
        fixed(row.minutes)
      ),
  },
  { key: "low", title: "Calm", number: true, cell: (row) => amountText(row, row.low) },
  { key: "mean", title: "Mean", number: true, cell: (row) => amountText(row, row.mean) },
  { key: "high", title: "Enough", number: true, cell: (row) => amountText(row, row.high) },
  {
    key: "forecast",
    title: "Forecast",
    number: true,
    cell: (row) => amountText(row, row.forecast),
  },
  { key: "typed", title: "Model", number: true, cell: (row) => amountText(row, row.typed) },
  {
    key: "used",
    title: "Used",
    number: true,
    strong: true,
    cell: (row) => amountText(row, row.used),
  },
];

export function EstimatesPanel({ system }: { system: string }) {
  const address = useListAddress([]);
  const [params, setParams] = useSearchParams();
  const picked = params.get("estimate");
  const estimates = useQuery({
    ...demandEstimatesQuery(system, { cursor: address.cursor || undefined }),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <Panel
        title="Estimates"
        sub={estimates.data ? `${fixed(estimates.data.count)}, newest first` : undefined}
        flush
        stale={estimates.isPlaceholderData}
        footer={pagerOf(estimates.data, "estimates", address)}
      >
        <QueryBody query={estimates} what="The estimates" rows={4}>
          {({ results }) =>
            results.length === 0 ? (
              <Empty>
                Snapshots were always made with the model&rsquo;s figures. An estimate is made when
                measured demand is switched on, and whenever it changes enough.
              </Empty>
            ) : (
              <DataTable
                label="Estimates"
                columns={COLUMNS}
                rows={results}
                rowKey={(row) => row.id}
                selected={picked}
                onSelect={(row) =>
                  setParams(
                    (before) => {
                      before.set("estimate", row.id);
                      return before;
                    },
                    { replace: true },
                  )
                }
                keys
              />
            )
          }
        </QueryBody>
      </Panel>
      {picked ? <Figures system={system} id={picked} /> : null}
    </>
  );
}

function Figures({ system, id }: { system: string; id: string }) {
  const estimate = useQuery(demandEstimateQuery(system, id));
  const data = estimate.data;
  const paged = usePaged(topicsFirst(data?.figures ?? []), FIRST, id);
  return (
    <Panel
      title={data ? `Figures of ${data.name}` : "Figures"}
      sub={
        data ? `measured from ${clockText(data.since)} to ${clockText(data.until)} UTC` : undefined
      }
      flush
      footer={
        paged.open || paged.close ? <PageFoot paged={paged} what="topics and classes" /> : undefined
      }
    >
      <QueryBody query={estimate} what="The estimate" rows={6}>
        {({ figures }) =>
          figures.length === 0 ? (
            <Empty>Nothing had been measured when it was made.</Empty>
          ) : (
            <DataTable
              label="Figures"
              columns={FIGURES}
              rows={paged.visible}
              rowKey={(row) => `${row.subject} ${row.name}`}
            />
          )
        }
      </QueryBody>
    </Panel>
  );
}
