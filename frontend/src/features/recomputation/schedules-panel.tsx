/** The schedules of a system: when, what then, next and last time, and their commands. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { FiringState } from "./firings-panel";
import { RuleCommands } from "./rule-commands";
import { ScheduleDialog } from "./schedule-dialog";
import { subjectWord, thenWord } from "./words";

import {
  scheduleDelete,
  scheduleRun,
  scheduleSave,
  schedulesQuery,
  type Schedule,
} from "@/api/recomputation";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { DataTable, type Column } from "@/components/ui/data-table";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { StateBadge } from "@/components/ui/state-badge";
import { tell } from "@/components/ui/toast";
import { UNKNOWN } from "@/lib/numbers";
import { problemOf } from "@/lib/problem";
import { clockText, exactTime } from "@/lib/time";

type Deeds = Record<"run" | "pause" | "edit" | "remove", (row: Schedule) => void>;

const columns = (on: Deeds): Column<Schedule>[] => [
  { key: "name", title: "Schedule", cell: (row) => <b>{row.name}</b> },
  { key: "text", title: "When", cell: (row) => <div className="said">{row.text}</div> },
  { key: "then", title: "Then", cell: (row) => thenWord(row.then) },
  { key: "subject", title: "Computes again", cell: (row) => subjectWord(row.subject) },
  { key: "method", title: "Method", cell: (row) => row.method || <span className="faint">default</span> },
  {
    key: "next",
    title: "Next, UTC",
    cell: (row) =>
      row.next_at ? (
        <span title={exactTime(row.next_at)}>{clockText(row.next_at)}</span>
      ) : (
        <StateBadge state="paused" />
      ),
  },
  {
    key: "last",
    title: "Last",
    cell: (row) => (row.last_firing ? <FiringState firing={row.last_firing} /> : UNKNOWN),
  },
  {
    key: "commands",
    title: "Commands",
    cell: (row) => (
      <RuleCommands
        row={row}
        run={() => on.run(row)}
        pause={() => on.pause(row)}
        edit={() => on.edit(row)}
        remove={() => on.remove(row)}
      />
    ),
  },
];

export function SchedulesPanel({ system, may }: { system: string; may: boolean }) {
  const queries = useQueryClient();
  const schedules = useQuery(schedulesQuery(system));
  const [edited, setEdited] = useState<Schedule | "new" | null>(null);
  const [leaving, setLeaving] = useState<Schedule | null>(null);
  const again = () => queries.invalidateQueries({ queryKey: keys.recomputation.all });
  const attempt = async (deed: Promise<unknown>, said: string) => {
    try {
      await deed;
      tell(said);
    } catch (error) {
      tell(problemOf(error).detail);
    }
    await again();
  };
  const run = (row: Schedule) => void attempt(scheduleRun(row), `${row.name} fired`);
  const pause = (row: Schedule) => {
    const enabled = row.enabled === false;
    const said = `${row.name} ${enabled ? "fires again" : "is paused"}`;
    void attempt(scheduleSave(system, row, { enabled }), said);
  };
  const add = may ? (
    <Command small icon="plus" onClick={() => setEdited("new")}>
      New schedule
    </Command>
  ) : null;
  return (
    <Panel title="Schedules" sub="compute again at a time" right={add} flush>
      <QueryBody query={schedules} what="The schedules" rows={3}>
        {(page) =>
          page.results.length === 0 ? (
            <Empty>No schedule computes this system again.</Empty>
          ) : (
            <DataTable
              label="Schedules"
              tall
              columns={columns({ run, pause, edit: setEdited, remove: setLeaving })}
              rows={page.results}
              rowKey={(row) => row.id}
            />
          )
        }
      </QueryBody>
      {edited ? (
        <ScheduleDialog
          system={system}
          row={edited === "new" ? null : edited}
          onClose={() => setEdited(null)}
        />
      ) : null}
      <ConfirmDialog
        title={`Delete schedule ${leaving?.name ?? ""}`}
        open={leaving !== null}
        onClose={() => setLeaving(null)}
        command="Delete"
        askReason
        run={async (reason) => {
          if (leaving) await scheduleDelete(leaving, reason);
          await again();
        }}
      >
        It fires no more. What it fired stays in the record.
      </ConfirmDialog>
    </Panel>
  );
}
