/** Rows that did not fit, by what is wrong with them: looked at, taken after all, or given up. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { AmendDialog } from "./amend-dialog";
import { DecideDialog, type Decision } from "./decide-dialog";
import { TABLES } from "./words";
import { WaitingRows } from "./waiting-rows";

import { keys } from "@/api/query-keys";
import type { ProblemCounts, RecordCounts, SetAside } from "@/api/records";
import { Command } from "@/components/ui/command";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Note } from "@/components/ui/dialogs";
import { useListAddress } from "@/components/ui/list-tools";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Empty, Panel } from "@/components/ui/panel";
import { countText, fixed } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

const FIRST_PROBLEMS = 12;
const OPENED = "aside";

/** As the address names a problem of a table. */
const nameOf = ({ table, problem }: ProblemCounts) => `${table}: ${problem}`;

export function SetAsidePanel({ system, counts }: { system: string; counts: RecordCounts }) {
  const queries = useQueryClient();
  const address = useListAddress([OPENED], "", "aside_");
  const opened = address.filters[OPENED] ?? "";
  const [decision, setDecision] = useState<Decision | null>(null);
  const [amending, setAmending] = useState<SetAside | null>(null);
  const [outcome, setOutcome] = useState("");
  const { waiting, allowed_commands: allowed } = counts;
  const paged = usePaged(waiting, FIRST_PROBLEMS, "");
  const rows = waiting.reduce((sum, problem) => sum + problem.rows, 0);
  const refresh = () => queries.invalidateQueries({ queryKey: keys.records.system(system) });
  const decide = (command: Decision["command"], problem: ProblemCounts) => {
    setOutcome("");
    setDecision({ command, problem });
  };
  const columns: Column<ProblemCounts>[] = [
    { key: "table", title: "Table", cell: (row) => TABLES[row.table] },
    {
      key: "problem",
      title: "Problem",
      cell: (row) => {
        const name = nameOf(row);
        const isOpen = name === opened;
        return (
          <button
            type="button"
            className="link"
            aria-expanded={isOpen}
            onClick={() => address.setFilter(OPENED, isOpen ? "" : name)}
          >
            {row.problem}
          </button>
        );
      },
    },
    {
      key: "rows",
      title: "Rows waiting",
      number: true,
      strong: true,
      cell: (row) => fixed(row.rows),
    },
    {
      key: "latest",
      title: "Latest",
      unit: "UTC",
      number: true,
      cell: (row) => <span title={exactTime(row.latest)}>{clockText(row.latest)}</span>,
    },
    {
      key: "commands",
      title: "Commands",
      silent: true,
      number: true,
      cell: (row) => (
        <span className="decide">
          {allowed.includes("replay") ? (
            <Command small icon="check" onClick={() => decide("replay", row)}>
              Take after all
            </Command>
          ) : null}
          {allowed.includes("discard") ? (
            <Command small danger icon="trash" onClick={() => decide("discard", row)}>
              Discard
            </Command>
          ) : null}
        </span>
      ),
    },
  ];
  return (
    <Panel
      title="Set aside"
      sub={rows > 0 ? `${countText(rows, "row waits", "rows wait")} for a decision` : undefined}
      className="setaside"
      flush
      footer={paged.open || paged.close ? <PageFoot paged={paged} what="problems" /> : undefined}
    >
      <div role="status">
        {outcome === "" ? null : (
          <div className="outcome">
            <Note tone="good">{outcome}</Note>
          </div>
        )}
      </div>
      {waiting.length === 0 ? (
        <Empty>No row waits. What does not fit is kept here with its problem, and counted.</Empty>
      ) : (
        <DataTable
          label="Set aside"
          columns={columns}
          rows={paged.visible}
          rowKey={nameOf}
          tall
          under={(row) =>
            nameOf(row) === opened ? (
              <WaitingRows
                system={system}
                counted={row}
                address={address}
                onAmend={allowed.includes("replay") ? setAmending : undefined}
              />
            ) : null
          }
        />
      )}
      {decision ? (
        <DecideDialog
          system={system}
          decision={decision}
          onClose={() => setDecision(null)}
          onDone={async (text) => {
            setOutcome(text);
            await refresh();
          }}
        />
      ) : null}
      {amending ? (
        <AmendDialog
          key={`${amending.batch} ${amending.row}`}
          system={system}
          row={amending}
          onClose={() => setAmending(null)}
          onDone={refresh}
        />
      ) : null}
    </Panel>
  );
}
