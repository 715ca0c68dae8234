/** Why a run placed nobody: who has no room, what each broker takes, and what would help. */
import type { NoRoom } from "@/api/placements";
import type { RunDetail } from "@/api/runs";
import { LoadBar } from "@/components/ui/bars";
import { DataTable, type Column } from "@/components/ui/data-table";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Panel } from "@/components/ui/panel";
import { countText, fixed, percentText, rateText, UNKNOWN } from "@/lib/numbers";

const FIRST = 15;

type Lost = NoRoom["without_room"][number];
type Room = NoRoom["rooms"][number];

const LOST: Column<Lost>[] = [
  { key: "name", title: "Publisher", cell: (row) => <span className="ent">{row.name}</span> },
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
    strong: true,
    cell: (row) => rateText(row.rate_per_s),
  },
  {
    key: "pinned",
    title: "Pinned to",
    cell: (row) => row.pinned_to ?? <span className="faint">{UNKNOWN}</span>,
  },
];

const loadOf = ({ allocated_rate_per_s: others, rate_per_s: own, max_rate_per_s: most }: Room) =>
  most > 0 ? (others + own) / most : 0;

const ROOMS: Column<Room>[] = [
  { key: "broker", title: "Broker", cell: (row) => <span className="ent">{row.broker}</span> },
  {
    key: "state",
    title: "State",
    cell: (row) => (row.drained ? "drained" : <span className="faint">in use</span>),
  },
  {
    key: "max",
    title: "Max",
    unit: "msg/s",
    number: true,
    cell: (row) => rateText(row.max_rate_per_s),
  },
  {
    key: "others",
    title: "Other topics",
    unit: "msg/s",
    number: true,
    cell: (row) => rateText(row.allocated_rate_per_s),
  },
  {
    key: "own",
    title: "This topic",
    unit: "msg/s",
    number: true,
    cell: (row) => rateText(row.rate_per_s),
  },
  {
    key: "load",
    title: "Load",
    cell: (row) => (
      <span className="loadcell">
        <LoadBar fraction={loadOf(row)} width={70} />
        <span>{percentText(loadOf(row))}</span>
      </span>
    ),
  },
  {
    key: "room",
    title: "Room left",
    unit: "msg/s",
    number: true,
    strong: true,
    cell: (row) => rateText(row.room_per_s),
  },
];

export function NoRoomPanel({ run }: { run: RunDetail }) {
  const explained = run.infeasibility;
  return explained && "rooms" in explained ? <NoRoomParts explained={explained} /> : null;
}

function NoRoomParts({ explained }: { explained: NoRoom }) {
  const { without_room: lost, rooms, publishers } = explained;
  const paged = usePaged(rooms, FIRST, "rooms");
  return (
    <>
      <Panel
        title="Who has no room"
        sub={`${countText(publishers, "publisher")} of ${explained.topic}, ${rateText(explained.rate_per_s)} msg/s`}
        flush
        footer={
          publishers > lost.length
            ? `The largest ${fixed(lost.length)} of ${fixed(publishers)}.`
            : undefined
        }
      >
        <DataTable label="Who has no room" columns={LOST} rows={lost} rowKey={(row) => row.name} />
      </Panel>
      <Panel title="What would help">
        <div className="whytext">
          {explained.next_moves.map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
        </div>
      </Panel>
      <Panel
        title="What each broker takes"
        sub="with what of this topic could be placed"
        flush
        footer={paged.open || paged.close ? <PageFoot paged={paged} what="brokers" /> : undefined}
      >
        <DataTable
          label="What each broker takes"
          columns={ROOMS}
          rows={paged.visible}
          rowKey={(row) => row.broker}
        />
      </Panel>
    </>
  );
}
