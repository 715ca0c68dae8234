/** Batches of records, newest first: what became of the rows of each. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { nameText, senderText, spanText, TABLES } from "./words";

import { recordBatchesQuery, type RecordBatch, type RecordTable } from "@/api/records";
import { DataTable, type Column } from "@/components/ui/data-table";
import { createdColumn } from "@/components/ui/list-panel";
import { pagerOf, useListAddress } from "@/components/ui/list-tools";
import { Segments } from "@/components/ui/page";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { FilterSelect } from "@/components/ui/select";
import { dataText, fixed, UNKNOWN } from "@/lib/numbers";
import { exactTime } from "@/lib/time";

/** Most batches have none of these; the few that do stand out. */
const few = (count: number) =>
  count === 0 ? <span className="faint">0</span> : <b>{fixed(count)}</b>;

const exactMoment = (seconds: number | null) =>
  seconds === null ? UNKNOWN : exactTime(new Date(seconds * 1000));

const COLUMNS: Column<RecordBatch>[] = [
  createdColumn("Arrived"),
  { key: "table", title: "Table", cell: (row) => TABLES[row.table] },
  {
    key: "name",
    title: "Batch",
    cell: (row) => (
      <div className="clip mono" title={`${row.name}, id ${row.id}`}>
        {nameText(row)}
      </div>
    ),
  },
  { key: "rows", title: "Rows", number: true, orderBy: "rows", cell: (row) => fixed(row.rows) },
  {
    key: "accepted",
    title: "Accepted",
    number: true,
    strong: true,
    cell: (row) => fixed(row.accepted),
  },
  { key: "waiting", title: "Waiting", number: true, cell: (row) => few(row.waiting) },
  { key: "later", title: "Taken later", number: true, cell: (row) => few(row.taken_later) },
  { key: "discarded", title: "Discarded", number: true, cell: (row) => few(row.discarded) },
  {
    key: "span",
    title: "Of the time",
    unit: "UTC",
    cell: (row) => {
      const text = spanText(row);
      if (text === null) return <span className="faint">{UNKNOWN}</span>;
      return (
        <span title={`${exactMoment(row.since_s)} to ${exactMoment(row.until_s)}`}>{text}</span>
      );
    },
  },
  {
    key: "size",
    title: "Size",
    number: true,
    cell: (row) => <span title={row.media_type}>{dataText(row.size_bytes)}</span>,
  },
  {
    key: "repeats",
    title: "Repeats",
    number: true,
    cell: (row) => (
      <span title={row.repeated_at ? `Last at ${exactTime(row.repeated_at)}` : undefined}>
        {few(row.repeats)}
      </span>
    ),
  },
  { key: "who", title: "Sent by", cell: senderText },
];

export function BatchesPanel({ system }: { system: string }) {
  const address = useListAddress(["table", "waiting"]);
  const { table = "", waiting = "" } = address.filters;
  const batches = useQuery({
    ...recordBatchesQuery(system, {
      table: table in TABLES ? (table as RecordTable) : undefined,
      waiting: waiting === "true" ? true : undefined,
      ordering: address.ordering || undefined,
      cursor: address.cursor || undefined,
    }),
    placeholderData: keepPreviousData,
  });
  return (
    <Panel
      title="Batches"
      sub={batches.data ? fixed(batches.data.count) : undefined}
      right={
        <Segments
          label="Batches"
          value={waiting}
          options={[
            { value: "", label: "All" },
            { value: "true", label: "With rows that wait" },
          ]}
          onChange={(value) => address.setFilter("waiting", value)}
        />
      }
      className="recordbatches"
      flush
      stale={batches.isPlaceholderData}
      footer={pagerOf(batches.data, "batches", address)}
    >
      <div className="tools">
        <FilterSelect
          label="Table"
          value={table}
          options={Object.entries(TABLES).map(([value, label]) => ({ value, label }))}
          onChange={(value) => address.setFilter("table", value)}
        />
      </div>
      <QueryBody query={batches} what="The batches" rows={8}>
        {({ results }) =>
          results.length === 0 ? (
            <Empty>
              {address.isNarrowedBy()
                ? "No batch matches what is filtered for."
                : "No batch is kept any more."}
            </Empty>
          ) : (
            <DataTable
              label="Batches"
              columns={COLUMNS}
              rows={results}
              rowKey={(row) => row.id}
              ordering={address.ordering}
              onOrder={(ordering) => address.set({ ordering })}
            />
          )
        }
      </QueryBody>
    </Panel>
  );
}
