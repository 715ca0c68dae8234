/** Who is hurt by a plan, from what is measured now: the first thing that a reviewer reads. */
import { useState } from "react";
import { Link } from "react-router";

import type { PlanDetail } from "@/api/plans";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Note } from "@/components/ui/dialogs";
import { Panel } from "@/components/ui/panel";
import { to } from "@/lib/kinds";
import { countText, fixed, UNKNOWN } from "@/lib/numbers";

type Waits = NonNullable<PlanDetail["waits"]>;
type Hurt = NonNullable<PlanDetail["hurt"]>;
type ClassHurt = Hurt["classes"][number];

const FIRST = 10;

/** A limit as it is: nothing limits a class only where it is served. */
const limitText = (served: boolean, limit: number | null) =>
  served ? (limit === null ? "no limit" : fixed(limit)) : "not served";

const COLUMNS: Column<ClassHurt>[] = [
  {
    key: "class",
    title: "Class",
    cell: (row) => (
      <>
        <b>{row.name}</b> <span className="faint">{row.broker}</span>
      </>
    ),
  },
  {
    key: "lost",
    title: "Disconnected",
    number: true,
    strong: true,
    cell: (row) => (row.disconnected === null ? "cannot be told" : fixed(row.disconnected)),
  },
  {
    key: "connected",
    title: "Connected now",
    number: true,
    cell: (row) => (row.connected === null ? UNKNOWN : fixed(row.connected)),
  },
  {
    key: "before",
    title: "Limit now",
    number: true,
    cell: (row) => limitText(row.served_before, row.limit_before),
  },
  {
    key: "after",
    title: "Limit after",
    number: true,
    cell: (row) => limitText(row.served_after, row.limit_after),
  },
];

/** How many of those who wait find a place: the other side of the same plan. */
function LetIn({ classes }: { classes: readonly ClassHurt[] }) {
  const count = classes.reduce((sum, row) => sum + (row.let_in ?? 0), 0);
  if (count === 0) return null;
  return <p className="muted">{countText(count, "consumer")} that now wait will be let in.</p>;
}

function ConsumersList({ hurt }: { hurt: Hurt }) {
  const [all, setAll] = useState(false);
  const rows = hurt.classes.filter((row) => row.disconnected !== 0);
  return (
    <>
      <p>
        <b>{hurt.sentence}</b>
      </p>
      <LetIn classes={hurt.classes} />
      {rows.length > 0 ? (
        <DataTable
          label="Classes that lose consumers"
          columns={COLUMNS}
          rows={all ? rows : rows.slice(0, FIRST)}
          rowKey={(row) => `${row.name} ${row.broker}`}
        />
      ) : null}
      {rows.length > FIRST && !all ? (
        <button type="button" className="link" onClick={() => setAll(true)}>
          Show all {countText(rows.length, "class", "classes")}
        </button>
      ) : null}
    </>
  );
}

function WaitsList({ system, waits }: { system: string; waits: Waits }) {
  const { topics, unmeasured } = waits;
  return (
    <>
      {topics.length > 0 ? (
        <Note tone={topics.some((row) => row.alarm) ? "bad" : "warn"}>
          <b>More messages arrive than the plan lets pass.</b>
          <ul
            aria-label="Topics that get more than they may send"
            style={{ margin: "4px 0 0", paddingLeft: 16 }}
          >
            {topics.map((row) => (
              <li key={row.topic}>
                <Link to={to.object(system, "topics", row.topic_id)}>{row.topic}</Link>
                {row.sentence.slice(row.topic.length)}
              </li>
            ))}
          </ul>
        </Note>
      ) : null}
      {unmeasured.length > 0 ? (
        <p className="muted">
          Nobody measures now what publishers send of {unmeasured.join(", ")}: whether messages will
          wait there cannot be told.
        </p>
      ) : null}
    </>
  );
}

export function HurtPanel({ plan }: { plan: PlanDetail }) {
  const { hurt, waits } = plan;
  // The plan has begun, or is settled: what is measured now is no longer the state before it.
  if (!hurt || !waits) return null;
  return (
    <Panel title="Who is hurt" sub="by what is measured now">
      <div className="stack" style={{ gap: 10 }}>
        <ConsumersList hurt={hurt} />
        <WaitsList system={plan.system} waits={waits} />
      </div>
    </Panel>
  );
}
