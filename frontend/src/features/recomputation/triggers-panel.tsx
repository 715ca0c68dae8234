/** The triggers of a system: what they see now against their thresholds. */
import { useQuery } from "@tanstack/react-query";

import { FiringState } from "./firings-panel";
import { RulesPanel, type RuleKind } from "./rules-panel";
import { TriggerDialog } from "./trigger-dialog";
import { standing, subjectWord, thenWord, TRIGGER_KINDS, valueText } from "./words";

import { triggerDelete, triggerSave, triggersQuery, type Trigger } from "@/api/recomputation";
import { Badge } from "@/components/ui/state-badge";
import { fixed, UNKNOWN } from "@/lib/numbers";

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

const TRIGGERS: RuleKind<Trigger> = {
  noun: "trigger",
  title: "Triggers",
  sub: "compute again when a value stays too high",
  empty: "Nothing is watched.",
  resumed: "watches again",
  deleted: "It watches no more.",
  enable: (system, row, enabled) => triggerSave(system, row, { kind: row.kind, enabled }),
  remove: triggerDelete,
  Edit: TriggerDialog,
  columns: [
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
  ],
};

export function TriggersPanel({ system, may }: { system: string; may: boolean }) {
  const rules = useQuery(triggersQuery(system));
  return <RulesPanel kind={TRIGGERS} rules={rules} system={system} may={may} />;
}
