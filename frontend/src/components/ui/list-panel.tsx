/** One page of a list that the server holds: tools, table, ways on, and what an empty list says. */
import { DataTable, type Column } from "./data-table";
import { pagerOf, SearchField, type ListAddress } from "./list-tools";
import { Empty, Panel, QueryBody } from "./panel";

import { fixed } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

type Page<Row> = {
  count: number;
  next?: string | null;
  previous?: string | null;
  results: Row[];
};

type ListQuery<Row> = {
  data: Page<Row> | undefined;
  error: unknown;
  isPending: boolean;
  isPlaceholderData: boolean;
  refetch: () => unknown;
};

/** When a row was made; the column by which lists begin. */
export function createdColumn<Row extends { created_at: string }>(title: string): Column<Row> {
  return {
    key: "created",
    title,
    unit: "UTC",
    number: true,
    orderBy: "created_at",
    cell: (row) => (
      <span className="faint" title={exactTime(row.created_at)}>
        {clockText(row.created_at)}
      </span>
    ),
  };
}

/** Seconds between begin and end; null while one of them is missing. */
export const tookSeconds = (row: {
  started_at?: string | null;
  finished_at?: string | null;
}): number | null =>
  row.started_at && row.finished_at
    ? (new Date(row.finished_at).getTime() - new Date(row.started_at).getTime()) / 1000
    : null;

export function ListPanel<Row extends { id: string }>({
  title,
  label = title,
  query,
  rows,
  address,
  kept = [],
  search,
  tools,
  right,
  columns,
  sortable = true,
  newestFirst = false,
  empty,
  command,
  onOpen,
  under,
  tall,
}: {
  title: string;
  /** The name of the table, where the panel's is another. */
  label?: string;
  query: ListQuery<Row>;
  /** What the table shows where it knows more than the server's page. */
  rows?: readonly Row[];
  address: ListAddress;
  /** Filters that choose a list and do not narrow it, such as a tab. */
  kept?: readonly string[];
  /** What the search field is called; without it there is none. */
  search?: string;
  /** Filters beside the search field. */
  tools?: React.ReactNode;
  right?: React.ReactNode;
  columns: readonly Column<Row>[];
  sortable?: boolean;
  newestFirst?: boolean;
  /** What belongs here, said while there is none. */
  empty: React.ReactNode;
  /** What makes the first. */
  command?: React.ReactNode;
  onOpen: (row: Row) => void;
  /** What stands below a row; null: nothing. */
  under?: (row: Row) => React.ReactNode;
  tall?: boolean;
}) {
  const narrowed = address.isNarrowedBy(kept);
  const noun = title.toLowerCase();
  const count = query.data?.count;
  const hasTools = (search !== undefined || tools !== undefined) && (count !== 0 || narrowed);
  const showAll = (
    <button type="button" className="btn sm ghost" onClick={() => address.clear(kept)}>
      Show all
    </button>
  );
  return (
    <Panel
      title={title}
      sub={
        count === undefined ? undefined : `${fixed(count)}${newestFirst ? ", newest first" : ""}`
      }
      right={right}
      flush
      stale={query.isPlaceholderData}
      footer={pagerOf(query.data, noun, address)}
    >
      {hasTools ? (
        <div className="tools">
          {search === undefined ? null : (
            <SearchField
              label={search}
              value={address.search}
              onSearch={(text) => address.set({ search: text })}
            />
          )}
          {tools}
          {narrowed ? showAll : null}
        </div>
      ) : null}
      <QueryBody query={query} what={label} rows={8}>
        {(page) => {
          const shown = rows ?? page.results;
          if (shown.length === 0) {
            return narrowed ? (
              <Empty>Nothing matches what is searched and filtered for.</Empty>
            ) : (
              <Empty command={command ?? undefined}>{empty}</Empty>
            );
          }
          return (
            <DataTable
              label={label}
              columns={columns}
              rows={shown}
              rowKey={(row) => row.id}
              ordering={address.ordering}
              onOrder={sortable ? (ordering) => address.set({ ordering }) : undefined}
              onOpen={onOpen}
              under={under}
              keys
              tall={tall}
            />
          );
        }}
      </QueryBody>
    </Panel>
  );
}
