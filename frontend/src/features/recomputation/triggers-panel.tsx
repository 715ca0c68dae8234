/** The triggers of a system: what they see now against their thresholds. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { FiringState } from "./firings-panel";
import { RuleCommands } from "./rule-commands";
import { TriggerDialog } from "./trigger-dialog";
import { standing, subjectWord, thenWord, TRIGGER_KINDS, valueText } from "./words";

import { triggerDelete, triggerSave, triggersQuery, type Trigger } from "@/api/recomputation";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { DataTable, type Column } from "@/components/ui/data-table";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { tell } from "@/components/ui/toast";
import { fixed, UNKNOWN } from "@/lib/numbers";
import { problemOf } from "@/lib/problem";

function Standing({ row }: { row: Trigger }) {
  const { state, word } = standing(row);
  const tone = state === "stale" ? "warn" : state === "live" ? "good" : "idle";
  const icon = state === "stale" ? "alert" : state === "live" ? "check" : "clock";
  return (
    <Badge tone={tone} icon={icon} title={row.detail || undefined}>
      {word}
    </Badge>
  );
}

type Deeds = Record<"pause" | "edit" | "remove", (row: Trigger) => void>;

const columns = (on: Deeds): Column<Trigger>[] => [
  {
    key: "name",
    title: "Trigger",
    cell: (row) => (
      <>
        <b>{row.name}</b>
        <div className="two">
          {subjectWord(row.subject)}: {thenWord(row.then).toLowerCase()}
        </div>
      </>
    ),
  },
  {
    key: "kind",
    title: "Watches",
    cell: (row) => (
      <>
        {TRIGGER_KINDS[row.kind].label}
        <div className="said">{row.detail}</div>
      </>
    ),
  },
  {
    key: "now",
    title: "Now",
    number: true,
    strong: true,
    cell: (row) => valueText(row.kind, row.value),
  },
  {
    key: "threshold",
    title: "Fires above",
    number: true,
    cell: (row) => valueText(row.kind, row.threshold),
  },
  { key: "for", title: "Lasting", unit: "s", number: true, cell: (row) => fixed(row.for_s) },
  {
    key: "cooldown",
    title: "Cool-down",
    unit: "s",
    number: true,
    cell: (row) => fixed(row.cooldown_s),
  },
  { key: "standing", title: "State", cell: (row) => <Standing row={row} /> },
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
        pause={() => on.pause(row)}
        edit={() => on.edit(row)}
        remove={() => on.remove(row)}
      />
    ),
  },
];

export function TriggersPanel({ system, may }: { system: string; may: boolean }) {
  const queries = useQueryClient();
  const triggers = useQuery(triggersQuery(system));
  const [edited, setEdited] = useState<Trigger | "new" | null>(null);
  const [leaving, setLeaving] = useState<Trigger | null>(null);
  const again = () => queries.invalidateQueries({ queryKey: keys.recomputation.all });
  const pause = async (row: Trigger) => {
    const enabled = row.enabled === false;
    try {
      await triggerSave(system, row, { kind: row.kind, enabled });
      tell(`${row.name} ${enabled ? "watches again" : "is paused"}`);
    } catch (error) {
      tell(problemOf(error).detail);
    }
    await again();
  };
  const add = may ? (
    <Command small icon="plus" onClick={() => setEdited("new")}>
      New trigger
    </Command>
  ) : null;
  return (
    <Panel title="Triggers" sub="compute again when a value stays too high" right={add} flush>
      <QueryBody query={triggers} what="The triggers" rows={3}>
        {(page) =>
          page.results.length === 0 ? (
            <Empty>Nothing is watched.</Empty>
          ) : (
            <DataTable
              label="Triggers"
              tall
              columns={columns({ pause: (row) => void pause(row), edit: setEdited, remove: setLeaving })}
              rows={page.results}
              rowKey={(row) => row.id}
            />
          )
        }
      </QueryBody>
      {edited ? (
        <TriggerDialog
          system={system}
          row={edited === "new" ? null : edited}
          onClose={() => setEdited(null)}
        />
      ) : null}
      <ConfirmDialog
        title={`Delete trigger ${leaving?.name ?? ""}`}
        open={leaving !== null}
        onClose={() => setLeaving(null)}
        command="Delete"
        askReason
        run={async (reason) => {
          if (leaving) await triggerDelete(leaving, reason);
          await again();
        }}
      >
        It watches no more. What it fired stays in the record.
      </ConfirmDialog>
    </Panel>
  );
}
