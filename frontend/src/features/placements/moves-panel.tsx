/** Publishers that move: from which broker to which, a page of the server at a time. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { delay } from "./sentences";

import type { BrokerShare, Move, PlacementDetail } from "@/api/placements";
import { movesQuery } from "@/api/placements";
import { DataTable, type Column } from "@/components/ui/data-table";
import { pageAsked, pagerOf, SearchField, useListAddress } from "@/components/ui/list-tools";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { FilterSelect } from "@/components/ui/select";
import { fixed, rateText, UNKNOWN } from "@/lib/numbers";

/** Beside all else on the page, fewer than a list has. */
const PAGE_ROWS = 20;

/** What the delay would be if this publisher stayed, beside what it is with all moves. */
function IfItStayed({ row, placed }: { row: Move; placed: number | null }) {
  if (row.must_move) return <>cannot stay</>;
  return (
    <>
      {row.p99_without_s === null ? "without bound" : delay(row.p99_without_s)}
      {placed === null ? null : <span className="faint"> against {delay(placed)}</span>}
    </>
  );
}

const columnsOf = (placed: number | null): Column<Move>[] => [
  {
    key: "publisher",
    title: "Publisher",
    cell: (row) => <span className="ent">{row.publisher}</span>,
  },
  {
    key: "group",
    title: "Group",
    cell: (row) => row.group ?? <span className="faint">{UNKNOWN}</span>,
  },
  {
    key: "rate",
    title: "Rate",
    unit: "msg/s",
    number: true,
    cell: (row) => rateText(row.rate_per_s),
  },
  {
    key: "from",
    title: "From",
    cell: (row) => row.from_broker ?? <span className="faint">no broker</span>,
  },
  {
    key: "to",
    title: "To",
    cell: (row) => (
      <>
        <span className="faint">{"\u2192"}</span> {row.to_broker}
      </>
    ),
  },
  {
    key: "stayed",
    title: "99th percentile if it stayed",
    number: true,
    cell: (row) => <IfItStayed row={row} placed={placed} />,
  },
];

const optionsOf = (shares: readonly BrokerShare[]) =>
  shares.map(({ broker }) => ({ value: broker, label: broker }));

export function MovesPanel({
  placement,
  isWhatIf,
}: {
  placement: PlacementDetail;
  isWhatIf: boolean;
}) {
  const { id, name, moved, outcome } = placement;
  const address = useListAddress(["from_broker", "to_broker"]);
  const { from_broker: from = "", to_broker: to = "" } = address.filters;
  const listQuery = { ...pageAsked(address), ordering: undefined, page_size: PAGE_ROWS };
  const moves = useQuery({
    ...movesQuery(id, {
      ...listQuery,
      from_broker: from || undefined,
      to_broker: to || undefined,
    }),
    enabled: moved > 0,
    placeholderData: keepPreviousData,
  });
  const narrowed = address.isNarrowedBy();
  return (
    <Panel
      title="Publishers that move"
      sub={
        isWhatIf
          ? `of ${name} as stored, ${fixed(moved)}`
          : moved > 0
            ? `${fixed(moved)} of ${fixed(placement.publishers)}`
            : undefined
      }
      flush
      stale={moves.isPlaceholderData}
      footer={moved > 0 ? pagerOf(moves.data, "publishers", address) : undefined}
    >
      {moved === 0 ? (
        <Empty>None: every publisher stays at the broker that it has.</Empty>
      ) : (
        <>
          <div className="tools">
            <SearchField
              label="Publisher"
              value={address.search}
              onSearch={(text) => address.set({ search: text })}
            />
            <FilterSelect
              label="From"
              value={from}
              options={optionsOf(outcome.shares.filter((share) => share.publishers_today > 0))}
              onChange={(value) => address.setFilter("from_broker", value)}
            />
            <FilterSelect
              label="To"
              value={to}
              options={optionsOf(outcome.shares.filter((share) => share.publishers > 0))}
              onChange={(value) => address.setFilter("to_broker", value)}
            />
            {narrowed ? (
              <button type="button" className="btn sm ghost" onClick={() => address.clear()}>
                Show all
              </button>
            ) : null}
          </div>
          <QueryBody query={moves} what="The moves" rows={6}>
            {(page) =>
              page.results.length === 0 ? (
                <Empty>Nothing matches what is searched and filtered for.</Empty>
              ) : (
                <DataTable
                  label="Publishers that move"
                  columns={columnsOf(placement.p99_s)}
                  rows={page.results}
                  rowKey={(row) => row.publisher}
                  keys
                />
              )
            }
          </QueryBody>
        </>
      )}
    </Panel>
  );
}
