/** How much each user filters, and why it gets what it did not ask for. */
import { useState } from "react";

import { ROWS, useRowsAddress } from "./rows-address";

import {
  useReceiver,
  useReceivers,
  type MappingDetail,
  type Receiver,
  type ReceiverDetail,
  type UnwantedFlow,
} from "@/api/mappings";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
import { pagerOf, SearchField } from "@/components/ui/list-tools";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { countText, fixed, rateText } from "@/lib/numbers";

/** What the server orders by; the dearest is of interest, so most of them only fall. */
const ORDERS = ["-cost", "cost", "-unwanted_per_s", "-dropped_per_s", "-wanted_per_s", "user"];
const USUAL = "-cost";

/** The nearest order that the server knows to what the head of a column asks for. */
export const orderFor = (wanted: string): string => {
  if (ORDERS.includes(wanted)) return wanted;
  const turned = wanted.startsWith("-") ? wanted.slice(1) : `-${wanted}`;
  return ORDERS.includes(turned) ? turned : USUAL;
};

const columnsOf = (opener: (row: Receiver) => React.ReactNode): Column<Receiver>[] => [
  { key: "user", title: "User", orderBy: "user", cell: opener },
  { key: "flows", title: "Flows wanted", number: true, cell: (row) => fixed(row.flows) },
  {
    key: "wanted",
    title: "Wanted",
    unit: "msg/s",
    orderBy: "wanted_per_s",
    number: true,
    cell: (row) => rateText(row.wanted_per_s),
  },
  {
    key: "unwanted",
    title: "Unwanted",
    unit: "msg/s",
    orderBy: "unwanted_per_s",
    number: true,
    cell: (row) => rateText(row.unwanted_per_s),
  },
  {
    key: "dropped",
    title: "Dropped with streams",
    unit: "msg/s",
    orderBy: "dropped_per_s",
    number: true,
    cell: (row) => rateText(row.dropped_per_s),
  },
  {
    key: "cost",
    title: "Cost",
    unit: "work/s",
    orderBy: "cost",
    number: true,
    strong: true,
    cell: (row) => rateText(row.cost),
  },
  { key: "streams", title: "Streams", number: true, cell: (row) => fixed(row.streams) },
  { key: "groups", title: "Groups", number: true, cell: (row) => fixed(row.groups) },
];

/** The wanted flow that brings it along. */
const becauseText = ({ because, layer, stream, group }: UnwantedFlow): string =>
  layer === "messaging"
    ? `arrives with ${because} in stream ${stream}`
    : `its stream ${stream} arrives with ${because} in group ${group}`;

const UNWANTED: readonly Column<UnwantedFlow>[] = [
  { key: "flow", title: "Flow", cell: (row) => <span className="ent">{row.flow}</span> },
  {
    key: "rate",
    title: "Rate",
    unit: "msg/s",
    number: true,
    cell: (row) => rateText(row.rate_per_s),
  },
  {
    key: "layer",
    title: "Filtered",
    cell: ({ layer }) =>
      layer === "messaging" ? "by message, at messaging" : "with its stream, at transport",
  },
  { key: "stream", title: "Stream", number: true, cell: (row) => String(row.stream) },
  { key: "group", title: "Group", number: true, cell: (row) => String(row.group) },
  {
    key: "cost",
    title: "Cost",
    unit: "work/s",
    number: true,
    strong: true,
    cell: (row) => rateText(row.cost),
  },
  { key: "because", title: "Why", cell: becauseText },
];

function Unwanted({ id, map, user }: { id: string; map: string; user: string }) {
  const receiver = useReceiver(id, map, user);
  return (
    <QueryBody query={receiver} what={`What ${user} filters`} rows={3}>
      {(detail) => <Dearest detail={detail} />}
    </QueryBody>
  );
}

function Dearest({ detail }: { detail: ReceiverDetail }) {
  const { user, unwanted_flows: all, dearest } = detail;
  if (dearest.length === 0) return <p>Nothing reaches {user} that it does not want.</p>;
  return (
    <>
      <p>
        {countText(all, "flow reaches", "flows reach")} {user} unwanted
        {all > dearest.length ? `; the ${fixed(dearest.length)} dearest` : ""}:
      </p>
      <DataTable
        label={`What ${user} filters`}
        columns={UNWANTED}
        rows={dearest}
        rowKey={(row) => row.flow}
      />
    </>
  );
}

export function ReceiversPanel({
  mapping,
  map = "",
}: {
  mapping: MappingDetail;
  /** Which of its maps; left out: the proposed one. */
  map?: string;
}) {
  const address = useRowsAddress(map, "r-", USUAL);
  const [open, setOpen] = useState<Readonly<Record<string, boolean>>>({});
  const receivers = useReceivers(mapping.id, map, orderFor(address.ordering), address.search, {
    cursor: address.cursor || undefined,
    page_size: ROWS,
  });
  const toggle = ({ user }: Receiver) => setOpen({ ...open, [user]: !open[user] });
  const opener = (row: Receiver) => (
    <>
      <button
        type="button"
        className="iconbtn opener"
        aria-label={`What ${row.user} filters`}
        aria-expanded={open[row.user] ?? false}
        title={`What ${row.user} filters`}
        onClick={() => toggle(row)}
      >
        <Icon name={open[row.user] ? "down" : "right"} small />
      </button>
      <span className="ent">{row.user}</span>
    </>
  );
  const narrowed = address.isNarrowedBy();
  return (
    <Panel
      title="How much each user filters and why"
      sub={receivers.data ? countText(receivers.data.count, "user") : undefined}
      className="wrapheads"
      flush
      stale={receivers.isPlaceholderData}
      footer={pagerOf(receivers.data, "users", address)}
    >
      <div className="tools">
        <SearchField
          label="User"
          value={address.search}
          onSearch={(text) => address.set({ search: text })}
        />
        {narrowed ? (
          <button type="button" className="btn sm ghost" onClick={() => address.clear()}>
            Show all
          </button>
        ) : null}
      </div>
      <QueryBody query={receivers} what="The users" rows={8}>
        {(page) =>
          page.results.length === 0 ? (
            <Empty>No user has what is searched for in its name.</Empty>
          ) : (
            <DataTable
              label="Users"
              columns={columnsOf(opener)}
              rows={page.results}
              rowKey={(row) => row.user}
              ordering={orderFor(address.ordering)}
              onOrder={(wanted) => address.set({ ordering: orderFor(wanted) })}
              onOpen={toggle}
              under={({ user }) =>
                open[user] ? <Unwanted id={mapping.id} map={map} user={user} /> : null
              }
              keys
            />
          )
        }
      </QueryBody>
    </Panel>
  );
}
