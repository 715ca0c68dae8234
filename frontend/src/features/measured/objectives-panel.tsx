/** Objectives: what each promises, how it stands, its budget and how fast it burns. */
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "react-router";

import type { Page } from "@/api/client";
import type { SloCompliance } from "@/api/objectives";
import { DataTable, type Column } from "@/components/ui/data-table";
import { budgetText, promiseText, rateOfBurn, STANDINGS } from "@/components/ui/objective-words";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { to } from "@/lib/kinds";
import { fixed, percentText, UNKNOWN } from "@/lib/numbers";

/** How fast the budget burns now: over the shortest time that an alert looks at. */
export function burnOf({ burns }: SloCompliance): number | null {
  const shortest = burns.toSorted((a, b) => a.long_minutes - b.long_minutes)[0];
  return shortest?.long_burn ?? null;
}

const columnsOf = (system: string): Column<SloCompliance>[] => [
  {
    key: "name",
    title: "Objective",
    cell: (row) => (
      <Link to={to.object(system, "slos", row.id)}>
        <b className="clip" title={row.name}>
          {row.name}
        </b>
      </Link>
    ),
  },
  { key: "promise", title: "Promises", cell: (row) => promiseText(row) },
  {
    key: "standing",
    title: "Stands",
    cell: (row) => {
      const { tone, icon, word, about } = STANDINGS[row.standing];
      return (
        <span title={about}>
          <Badge tone={tone} icon={icon}>
            {word}
          </Badge>
        </span>
      );
    },
  },
  {
    key: "held",
    title: "Held",
    number: true,
    cell: (row) => percentText(row.share_held, 2),
  },
  {
    key: "left",
    title: "Budget left",
    number: true,
    strong: true,
    cell: (row) => budgetText(row.budget_left),
  },
  {
    key: "burns",
    title: "Burns now",
    number: true,
    cell: (row) => {
      const burn = burnOf(row);
      return burn === null ? UNKNOWN : rateOfBurn(burn);
    },
  },
];

const SUB = "error budgets, and how fast they burn";

export function ObjectivesPanel({
  system,
  query,
  of,
}: {
  system: string;
  /** Of what, in words. */
  of: string;
  query: UseQueryResult<Page<SloCompliance>>;
}) {
  return (
    <Panel
      title="Objectives"
      sub={query.data?.next ? `the first ${fixed(query.data.results.length)} by name` : SUB}
      right={
        <Link className="btn sm" to={`/systems/${system}/service-levels`}>
          All service levels
        </Link>
      }
      flush
    >
      <QueryBody query={query} what="The objectives" rows={2}>
        {({ results }) =>
          results.length === 0 ? (
            <Empty>{`No objective promises anything of ${of}.`}</Empty>
          ) : (
            <DataTable
              label="Objectives"
              columns={columnsOf(system)}
              rows={results}
              rowKey={(row) => row.id}
            />
          )
        }
      </QueryBody>
    </Panel>
  );
}
