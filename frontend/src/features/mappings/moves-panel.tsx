/** Flows that change their stream or group, get one, or lose it; a page of the server at a time. */
import { useState } from "react";

import { ROWS, useRowsAddress } from "./rows-address";

import { allMoves, useMoves, type FlowMove, type MappingDetail } from "@/api/mappings";
import { Command } from "@/components/ui/command";
import { DataTable, type Column } from "@/components/ui/data-table";
import { pagerOf, SearchField } from "@/components/ui/list-tools";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { tellFailure } from "@/components/ui/toast";
import { download, toCsv } from "@/lib/csv";
import { countText, fixed, rateText } from "@/lib/numbers";

/** "stream 7 in group 3"; a stream of the catalog may have no group yet. */
function placeText(stream: number | null, group: number | null, none: string) {
  if (stream === null) return <span className="faint">{none}</span>;
  return (
    <>
      stream {stream}{" "}
      <span className="faint">{group === null ? "in no group" : `in group ${group}`}</span>
    </>
  );
}

const COLUMNS: readonly Column<FlowMove>[] = [
  { key: "flow", title: "Flow", cell: (row) => <span className="ent">{row.flow}</span> },
  {
    key: "rate",
    title: "Rate",
    unit: "msg/s",
    number: true,
    cell: (row) => rateText(row.rate_per_s),
  },
  { key: "users", title: "Users", number: true, cell: (row) => fixed(row.users) },
  {
    key: "from",
    title: "From",
    cell: (row) => placeText(row.from_stream, row.from_group, "no stream"),
  },
  {
    key: "to",
    title: "To",
    cell: (row) => (
      <>
        <span className="faint">{"\u2192"}</span>{" "}
        {placeText(row.to_stream, row.to_group, "no stream, nobody wants it")}
      </>
    ),
  },
];

const HEAD = [
  ...["flow", "rate_per_s", "users"],
  ...["from_stream", "from_group", "to_stream", "to_group"],
];
const cellsOf = (row: FlowMove) => [
  ...[row.flow, row.rate_per_s, row.users],
  ...[row.from_stream, row.from_group, row.to_stream, row.to_group],
];

/** Every move as a file, whatever page is shown. */
function SaveMoves({ mapping, map }: { mapping: MappingDetail; map: string }) {
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      const rows = await allMoves(mapping.id, map, "");
      download(`moves-${mapping.name}.csv`, toCsv(HEAD, rows.map(cellsOf)));
    } catch (error) {
      tellFailure("Not saved", error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Command
      small
      icon="download"
      onClick={() => void save()}
      disabled={busy}
      reason="The moves are being read."
    >
      CSV
    </Command>
  );
}

/** Why each of these flows is here: "148 flows: 114 to another stream, 30 that nobody wants". */
function countsOf(mapping: MappingDetail, map: string, count: number): string {
  const { points, proposed } = mapping.outcome;
  const point = map === "" ? points[proposed] : points[Number(map)];
  const all = countText(count, "flow");
  if (point === undefined) return all;
  const { moved, placed, retired } = point;
  const parts = [
    [moved, "to another stream"],
    [placed, "into their first stream"],
    [retired, "out, as nobody wants them"],
    [count - moved - placed - retired, "with their stream to another group"],
  ] as const;
  const some = parts
    .filter(([flows]) => flows > 0)
    .map(([flows, what]) => `${fixed(flows)} ${what}`);
  return `${all}, busiest first: ${some.join(", ")}`;
}

export function MovesPanel({
  mapping,
  map = "",
}: {
  mapping: MappingDetail;
  /** Which of its maps; left out: the proposed one. */
  map?: string;
}) {
  const address = useRowsAddress(map, "m-");
  const moves = useMoves(mapping.id, map, address.search, {
    cursor: address.cursor || undefined,
    page_size: ROWS,
  });
  const narrowed = address.isNarrowedBy();
  const none = moves.data?.count === 0 && !narrowed;
  const isFirst = mapping.former_cost === null;
  // Until its own rows are there the count is that of the map before.
  const isCounted = moves.data !== undefined && !moves.isPlaceholderData;
  return (
    <Panel
      title="Flows that move"
      sub={isCounted && !none && !narrowed ? countsOf(mapping, map, moves.data.count) : undefined}
      right={moves.data && !none ? <SaveMoves mapping={mapping} map={map} /> : undefined}
      flush
      stale={moves.isPlaceholderData}
      footer={pagerOf(moves.data, "flows", address)}
    >
      {none ? null : (
        <div className="tools">
          <SearchField
            label="Flow"
            value={address.search}
            onSearch={(text) => address.set({ search: text })}
            hasKey={false}
          />
          {narrowed ? (
            <button type="button" className="btn sm ghost" onClick={() => address.clear()}>
              Show all
            </button>
          ) : null}
        </div>
      )}
      <QueryBody query={moves} what="The moves" rows={6}>
        {(page) => {
          if (page.results.length > 0) {
            return (
              <DataTable
                label="Flows that move"
                columns={COLUMNS}
                rows={page.results}
                rowKey={(row) => row.flow}
              />
            );
          }
          if (narrowed)
            return <Empty>No flow that moves has what is searched for in its name.</Empty>;
          return (
            <Empty>
              {isFirst
                ? "None: no map was in force, so every flow gets its first stream."
                : "None: every flow stays in its stream, and every stream in its group."}
            </Empty>
          );
        }}
      </QueryBody>
    </Panel>
  );
}
