/** The schedules or the triggers of a system: their table, its commands, and what these ask. */
import { useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { RuleCommands } from "./rule-commands";

import { keys } from "@/api/query-keys";
import type { Schedule, Trigger } from "@/api/recomputation";
import { Command } from "@/components/ui/command";
import { DataTable, type Column } from "@/components/ui/data-table";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { tell } from "@/components/ui/toast";
import { problemOf } from "@/lib/problem";

/** What tells schedules from triggers. */
export type RuleKind<Rule extends Schedule | Trigger> = {
  noun: "schedule" | "trigger";
  title: string;
  sub: string;
  /** Shown where there is none. */
  empty: string;
  /** What a resumed rule does, such as "fires again". */
  resumed: string;
  /** What deleting a rule ends. */
  deleted: string;
  columns: readonly Column<Rule>[];
  enable: (system: string, row: Rule, enabled: boolean) => Promise<unknown>;
  remove: (row: Rule, reason: string) => Promise<unknown>;
  /** Only where a person may fire the rule by hand. */
  run?: (row: Rule) => Promise<unknown>;
  Edit: (props: { system: string; row: Rule | null; onClose: () => void }) => ReactNode;
};

export function RulesPanel<Rule extends Schedule | Trigger>({
  kind,
  rules,
  system,
  may,
}: {
  kind: RuleKind<Rule>;
  rules: UseQueryResult<{ results: Rule[] }>;
  system: string;
  may: boolean;
}) {
  const queries = useQueryClient();
  const [edited, setEdited] = useState<Rule | "new" | null>(null);
  const [leaving, setLeaving] = useState<Rule | null>(null);
  const refresh = () => queries.invalidateQueries({ queryKey: keys.recomputation.all });
  const attempt = async (request: Promise<unknown>, done: string) => {
    try {
      await request;
      tell(done);
    } catch (error) {
      tell(problemOf(error).detail);
    }
    await refresh();
  };
  const pause = (row: Rule) => {
    const enabled = row.enabled === false;
    const done = `${row.name} ${enabled ? kind.resumed : "is paused"}`;
    void attempt(kind.enable(system, row, enabled), done);
  };
  const { run, Edit } = kind;
  const columns: Column<Rule>[] = [
    ...kind.columns,
    {
      key: "commands",
      title: "Commands",
      cell: (row) => (
        <RuleCommands
          row={row}
          run={run ? () => void attempt(run(row), `${row.name} fired`) : undefined}
          pause={() => pause(row)}
          edit={() => setEdited(row)}
          remove={() => setLeaving(row)}
        />
      ),
    },
  ];
  const add = may ? (
    <Command small icon="plus" onClick={() => setEdited("new")}>
      New {kind.noun}
    </Command>
  ) : null;
  return (
    <Panel title={kind.title} sub={kind.sub} right={add} flush>
      <QueryBody query={rules} what={`The ${kind.noun}s`} rows={3}>
        {(page) =>
          page.results.length === 0 ? (
            <Empty>{kind.empty}</Empty>
          ) : (
            <DataTable
              label={kind.title}
              tall
              columns={columns}
              rows={page.results}
              rowKey={(row) => row.id}
            />
          )
        }
      </QueryBody>
      {edited ? (
        <Edit
          system={system}
          row={edited === "new" ? null : edited}
          onClose={() => setEdited(null)}
        />
      ) : null}
      <ConfirmDialog
        title={`Delete ${kind.noun} ${leaving?.name ?? ""}`}
        open={leaving !== null}
        onClose={() => setLeaving(null)}
        command="Delete"
        askReason
        run={async (reason) => {
          if (leaving) await kind.remove(leaving, reason);
          await refresh();
        }}
      >
        {kind.deleted} What it fired stays in the record.
      </ConfirmDialog>
    </Panel>
  );
}
