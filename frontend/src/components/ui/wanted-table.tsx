/** What is wanted of topics or of classes: in the model, as measured, as forecast, as used. */
import { Link } from "react-router";

import { DataTable, type Column } from "./data-table";

import type { Wanted } from "@/api/demand";
import { to } from "@/lib/kinds";
import { fixed, rateText, relativeChange, UNKNOWN } from "@/lib/numbers";

type Subject = Wanted["subject"];

export const amountText = ({ subject }: Pick<Wanted, "subject">, amount: number | null) =>
  subject === "topic" ? rateText(amount) : fixed(amount, Number.isInteger(amount ?? 0) ? 0 : 1);

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

export const WantedTable = ({
  system,
  subject,
  rows,
}: {
  system: string;
  subject: Subject;
  rows: readonly Wanted[];
}) => (
  <DataTable
    label={subject === "topic" ? "Topics" : "Classes of consumers"}
    columns={columnsOf(system, subject)}
    rows={rows}
    rowKey={(row) => row.id}
  />
);
