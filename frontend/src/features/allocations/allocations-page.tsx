/** The allocations of one system, newest first, and the command that makes the next. */
import { Link, useParams } from "react-router";

import { allocationsAt } from "./addresses";
import { OptimizeDialog } from "./optimize-dialog";

import { allocationsQuery, type Allocation } from "@/api/allocations";
import { useSystem } from "@/api/systems";
import { ActiveRuns, useRequestDialog } from "@/components/ui/request-dialog";
import { Command } from "@/components/ui/command";
import type { Column } from "@/components/ui/data-table";
import { ListPage } from "@/components/ui/list-page";
import { createdColumn, tookSeconds } from "@/components/ui/list-panel";
import { StateBadge } from "@/components/ui/state-badge";
import { UnitNumber } from "@/components/ui/unit-number";
import { to } from "@/lib/kinds";
import { fixed, gapText, UNKNOWN } from "@/lib/numbers";

const COLUMNS: Column<Allocation>[] = [
  {
    key: "number",
    title: "Allocation",
    orderBy: "number",
    cell: (row) => (
      <Link className="ent" to={allocationsAt.one(row.id)}>
        A-{row.number}
      </Link>
    ),
  },
  { key: "status", title: "Answer", cell: (row) => <StateBadge state={row.status} /> },
  {
    key: "utility",
    title: "Total utility",
    number: true,
    strong: true,
    orderBy: "utility",
    cell: (row) => fixed(row.utility, 1),
  },
  {
    key: "gap",
    title: "Gap to bound",
    unit: "%",
    number: true,
    cell: (row) => (row.upper_bound === null ? UNKNOWN : gapText(row.utility, row.upper_bound)),
  },
  { key: "admitted", title: "Admitted", number: true, cell: (row) => fixed(row.admitted) },
  {
    key: "wanted",
    title: "Wanted",
    number: true,
    cell: (row) => <span className="faint">{fixed(row.wanted)}</span>,
  },
  { key: "iterations", title: "Iterations", number: true, cell: (row) => fixed(row.iterations) },
  { key: "method", title: "Method", cell: (row) => row.method },
  {
    key: "model",
    title: "Model",
    cell: (row) => (row.model_version === null ? UNKNOWN : `v${row.model_version}`),
  },
  {
    key: "run",
    title: "Run",
    cell: (row) => <Link to={to.run(row.run)}>R-{row.run_number}</Link>,
  },
  {
    key: "took",
    title: "Took",
    number: true,
    cell: (row) => <UnitNumber as="duration" value={tookSeconds(row)} />,
  },
  createdColumn("Found"),
];

export default function AllocationsPage() {
  const { systemId = "" } = useParams();
  const system = useSystem(systemId).data;
  const { isOpen, ask } = useRequestDialog("optimize");
  return (
    <ListPage
      title="Allocation"
      list="Allocations"
      about={`${system ? `model v${fixed(system.model_version)}. ` : ""}Rates, admitted consumers and prices that runs have found for this system.`}
      system={systemId}
      query={allocationsQuery}
      columns={COLUMNS}
      newestFirst
      empty="An allocation gives every topic its rate and every class its admitted consumers. This system has none yet."
      command={
        <Command primary icon="play" onClick={() => ask(true)}>
          Optimize
        </Command>
      }
      needs="optimize"
      address={(row) => allocationsAt.one(row.id)}
    >
      <ActiveRuns
        kind="allocation"
        system={systemId}
        more={({ progress }) =>
          progress.iteration === undefined
            ? ""
            : `, iteration ${fixed(progress.iteration)}, best utility ${fixed(progress.best_utility, 1)}`
        }
      />
      {system?.allowed_commands.includes("optimize") ? (
        <OptimizeDialog system={system} open={isOpen} onClose={() => ask(false)} />
      ) : null}
    </ListPage>
  );
}
