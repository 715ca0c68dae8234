/** What is wanted of topics or of classes: in the model, as measured, as forecast, as used. */
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "react-router";

import { amountText } from "./words";

import type { Demand, Wanted } from "@/api/demand";
import { DataTable, type Column } from "@/components/ui/data-table";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { to } from "@/lib/kinds";
import { fixed, relativeChange, UNKNOWN } from "@/lib/numbers";
import { clockText } from "@/lib/time";

const FIRST = 15;

type Subject = Wanted["subject"];

const columnsOf = (system: string, subject: Subject): Column<Wanted>[] => [
  {
    key: "name",
    title: subject === "topic" ? "Topic" : "Class",
    cell: (row) => (
      <Link to={to.object(system, subject === "topic" ? "topics" : "consumer-classes", row.id)}>
        <b className="clip" title={row.name}>
          {row.name}
        </b>
      </Link>
    ),
  },
  {
    key: "place",
    title: subject === "topic" ? "Enters at" : "Topic",
    cell: (row) => (subject === "topic" ? row.broker_name || UNKNOWN : row.topic_name),
  },
  {
    key: "typed",
    title: "Model",
    number: true,
    cell: (row) => amountText(row, row.typed),
  },
  {
    key: "mean",
    title: "Measured",
    number: true,
    cell: (row) =>
      row.mean === null ? (
        <span className="faint" title="No agent measured it in this time.">
          not measured
        </span>
      ) : (
        <span title={`In ${row.minutes} minutes; ${amountText(row, row.low)} in the calmer ones`}>
          {amountText(row, row.mean)}
        </span>
      ),
  },
  {
    key: "high",
    title: "Enough",
    number: true,
    cell: (row) => amountText(row, row.high),
  },
  {
    key: "forecast",
    title: "Forecast",
    number: true,
    cell: (row) => amountText(row, row.forecast),
  },
  {
    key: "change",
    title: "To the model",
    number: true,
    cell: (row) => relativeChange(row.high, row.typed),
  },
  {
    key: "used",
    title: "Used",
    number: true,
    strong: true,
    cell: (row) => amountText(row, row.used),
  },
];

export function WantedPanel({
  system,
  subject,
  now,
  search,
}: {
  system: string;
  subject: Subject;
  now: UseQueryResult<Demand>;
  search: string;
}) {
  const what = subject === "topic" ? "topics" : "classes";
  const rows = (now.data?.rows ?? []).filter((row) => row.subject === subject);
  const paged = usePaged(rows, FIRST, subject);
  return (
    <Panel
      title={subject === "topic" ? "Offered to topics, msg/s" : "Consumers of classes"}
      sub={now.data ? measuredText(now.data, rows) : undefined}
      flush
      stale={now.isPlaceholderData}
      footer={paged.open || paged.close ? <PageFoot paged={paged} what={what} /> : undefined}
    >
      <QueryBody query={now} what="The demand" rows={6}>
        {() =>
          rows.length === 0 ? (
            <Empty>
              {search === "" ? `The system has no ${what} yet.` : `No ${what} of that name.`}
            </Empty>
          ) : (
            <DataTable
              label={subject === "topic" ? "Topics" : "Classes of consumers"}
              columns={columnsOf(system, subject)}
              rows={paged.visible}
              rowKey={(row) => row.id}
            />
          )
        }
      </QueryBody>
    </Panel>
  );
}

function measuredText({ since, until }: Demand, rows: readonly Wanted[]): string {
  const measured = rows.filter((row) => row.high !== null).length;
  const when = `from ${clockText(since)} to ${clockText(until)} UTC`;
  return measured === 0 ? `nothing measured ${when}` : `${fixed(measured)} measured ${when}`;
}
