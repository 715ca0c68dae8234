/** Classes that ask and wait for answers: requesters, pause and answer, in the model and measured. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { requestLoopsQuery, type LoopInterval, type RequestLoop } from "@/api/demand";
import { DataTable, type Column } from "@/components/ui/data-table";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Panel, QueryBody } from "@/components/ui/panel";
import { to } from "@/lib/kinds";
import { fixed, secondsText, significant, UNKNOWN } from "@/lib/numbers";

const FIRST = 15;
const DIGITS = 3;

const heads = (value: number | null) => {
  if (value === null) return UNKNOWN;
  return Number.isInteger(value) ? fixed(value) : significant(value, DIGITS);
};

function Pair({
  typed,
  interval,
  why,
  text,
}: {
  typed: number | null;
  interval: LoopInterval | null;
  why: string;
  text: (value: number | null) => string;
}) {
  return interval ? (
    <span
      title={`In most of ${interval.minutes} minutes ${text(interval.low)} to ${text(interval.high)}`}
    >
      <b>{text(interval.median)}</b>, <span className="faint">typed {text(typed)}</span>
    </span>
  ) : (
    <span className="faint" title={why}>
      not known, typed {text(typed)}
    </span>
  );
}

const columnsOf = (system: string): Column<RequestLoop>[] => [
  {
    key: "name",
    title: "Class",
    cell: (row) => (
      <Link to={to.object(system, "consumer-classes", row.consumer_class)}>
        <b className="clip" title={row.consumer_class_name}>
          {row.consumer_class_name}
        </b>
      </Link>
    ),
  },
  {
    key: "topic",
    title: "Topic",
    cell: (row) => (
      <span className="clip" title={row.topic_name}>
        {row.topic_name}
      </span>
    ),
  },
  {
    key: "answers",
    title: "Answers",
    unit: "1/s",
    number: true,
    cell: (row) => heads(row.answers_per_s),
  },
  {
    key: "senders",
    title: "Requesters",
    number: true,
    cell: (row) => (
      <Pair typed={row.typed_senders} interval={row.senders} why={row.why} text={heads} />
    ),
  },
  {
    key: "think",
    title: "Pause",
    number: true,
    cell: (row) => (
      <Pair typed={row.typed_think_s} interval={row.think_s} why={row.why} text={secondsText} />
    ),
  },
  {
    key: "exec",
    title: "Answer",
    number: true,
    cell: (row) => (
      <Pair typed={row.typed_exec_s} interval={row.exec_s} why={row.exec_why} text={secondsText} />
    ),
  },
  {
    key: "utility",
    title: "Function",
    cell: (row) => <Link to={to.utilityEditor(system, row.utility)}>{row.utility_name}</Link>,
  },
];

/** Nothing where no class asks. */
export function RequestsPanel({ system }: { system: string }) {
  const query = useQuery(requestLoopsQuery(system, null));
  const rows = query.data?.rows ?? [];
  const paged = usePaged(rows, FIRST, system);
  if (rows.length === 0 && !query.isError) return null;
  const measured = rows.filter((row) => row.senders !== null).length;
  return (
    <Panel
      title="Requests and answers"
      sub={
        query.data
          ? `${fixed(measured)} of ${fixed(query.data.count)} classes known, last 24 h`
          : undefined
      }
      flush
      footer={paged.open || paged.close ? <PageFoot paged={paged} what="classes" /> : undefined}
    >
      <QueryBody query={query} what="The measured requests" rows={3}>
        {() => (
          <DataTable
            label="Classes that ask"
            columns={columnsOf(system)}
            rows={paged.visible}
            rowKey={(row) => row.consumer_class}
          />
        )}
      </QueryBody>
    </Panel>
  );
}
