/** The picture of a stop as rows: every link that changes, what it is now and who carries it. */
import { useMemo } from "react";

import { PHASES } from "./phases";
import { natural } from "./places";
import { convoysAt, edgesAt, type EdgePhase, type Timeline } from "./timeline";

import { DataTable, type Column } from "@/components/ui/data-table";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Empty } from "@/components/ui/panel";
import { rateText, UNKNOWN } from "@/lib/numbers";

type Row = { key: string; name: string; phase: EdgePhase; carrier: string; traffic?: number };

const ORDER: Record<EdgePhase, number> = { moving: 0, leaves: 1, goal: 2, placed: 3, stays: 4 };
const TAGS: Record<EdgePhase, string> = {
  stays: "out",
  leaves: "before",
  moving: "moving",
  goal: "after",
  placed: "after",
};

export function StopTable({
  timeline,
  stop,
  traffic,
}: {
  timeline: Timeline;
  stop: number;
  traffic?: ReadonlyMap<string, number>;
}) {
  const rows = useMemo(() => {
    const carriers = new Map(
      convoysAt(timeline, stop).flatMap(({ mover, keys }) => keys.map((key) => [key, mover])),
    );
    return edgesAt(timeline, stop)
      .map(({ a, b, key, phase }): Row => {
        const name = natural(a, b) < 0 ? `${a} \u2013 ${b}` : `${b} \u2013 ${a}`;
        return { key, name, phase, carrier: carriers.get(key) ?? "", traffic: traffic?.get(key) };
      })
      .sort((a, b) => ORDER[a.phase] - ORDER[b.phase] || natural(a.name, b.name));
  }, [timeline, stop, traffic]);
  const paged = usePaged(rows, 12, String(stop));
  const columns: Column<Row>[] = [
    { key: "name", title: "Link", cell: (row) => <span className="ent">{row.name}</span> },
    {
      key: "phase",
      title: "At this stop",
      cell: (row) => <span className={`tag ${TAGS[row.phase]}`}>{PHASES[row.phase].word}</span>,
    },
    { key: "carrier", title: "Carried by", cell: (row) => row.carrier || UNKNOWN },
    ...(traffic
      ? [
          {
            key: "traffic",
            title: "Traffic",
            unit: "msg/s",
            number: true,
            cell: (row: Row) => rateText(row.traffic),
          },
        ]
      : []),
  ];
  if (rows.length === 0) return <Empty>This overlay has no links.</Empty>;
  return (
    <>
      <DataTable
        label="Links at this stop"
        columns={columns}
        rows={paged.visible}
        rowKey={(row) => row.key}
      />
      <div className="tabfoot">
        <PageFoot paged={paged} what="links" />
      </div>
    </>
  );
}
