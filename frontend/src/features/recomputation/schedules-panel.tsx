/** The schedules of a system: when they compute again, what happens then, their next and last time. */
import { useQuery } from "@tanstack/react-query";

import { FiringState } from "./firings-panel";
import { RulesPanel, type RuleKind } from "./rules-panel";
import { ScheduleDialog } from "./schedule-dialog";
import { subjectWord, thenWord } from "./words";

import {
  scheduleDelete,
  scheduleRun,
  scheduleSave,
  schedulesQuery,
  type Schedule,
} from "@/api/recomputation";
import { StateBadge } from "@/components/ui/state-badge";
import { UNKNOWN } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

const SCHEDULES: RuleKind<Schedule> = {
  noun: "schedule",
  title: "Schedules",
  sub: "optimize again at set times",
  empty: "This system has no schedule. A schedule optimizes it again at the times you set.",
  resumed: "fires again",
  deleted: "It fires no more.",
  enable: (system, row, enabled) => scheduleSave(system, row, { enabled }),
  remove: scheduleDelete,
  run: scheduleRun,
  Edit: ScheduleDialog,
  columns: [
    { key: "name", title: "Schedule", cell: (row) => <b>{row.name}</b> },
    { key: "text", title: "When", cell: (row) => <div className="said">{row.text}</div> },
    { key: "then", title: "Then", cell: (row) => thenWord(row.then) },
    { key: "subject", title: "Recomputes", cell: (row) => subjectWord(row.subject) },
    {
      key: "method",
      title: "Method",
      cell: (row) => row.method || <span className="faint">default</span>,
    },
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
  ],
};

export function SchedulesPanel({ system, may }: { system: string; may: boolean }) {
  const rules = useQuery(schedulesQuery(system));
  return <RulesPanel kind={SCHEDULES} rules={rules} system={system} may={may} />;
}
