/** The reliable topics whose waiting messages will be full, in front of everything else. */
import { Link } from "react-router";

import type { Overview } from "@/api/allocations";
import { Note } from "@/components/ui/dialogs";
import { to } from "@/lib/kinds";
import { countText } from "@/lib/numbers";

const SHOWN = 3;

export function BacklogAlarm({ systems }: { systems: readonly Overview[] }) {
  const rows = systems.flatMap((system) => system.backlogs.map((row) => ({ ...row, system })));
  if (rows.length === 0) return null;
  const alarms = rows
    .filter((row) => row.growth === "alarm")
    .sort((a, b) => (a.full_in_s ?? Infinity) - (b.full_in_s ?? Infinity));
  const growing = rows.filter((row) => row.growth !== "alarm");
  const worst = [...alarms, ...growing];
  return (
    <Note tone={alarms.length > 0 ? "bad" : "warn"}>
      <b>
        {alarms.length > 0
          ? `${countText(alarms.length, "reliable topic is", "reliable topics are")} full, or will be within an hour.`
          : `More messages arrive than leave on ${countText(growing.length, "reliable topic")}.`}
      </b>
      <ul aria-label="Worst backlogs" style={{ margin: "4px 0 0", paddingLeft: 16 }}>
        {worst.slice(0, SHOWN).map((row) => (
          <li key={`${row.system.id} ${row.topic}`}>
            <Link to={to.object(row.system.id, "topics", row.topic_id)}>{row.topic}</Link>
            {row.sentence.slice(row.topic.length)} <span className="faint">{row.system.name}</span>
          </li>
        ))}
      </ul>
      {worst.length > SHOWN ? (
        <span className="faint">and {countText(worst.length - SHOWN, "more topic")}</span>
      ) : null}
    </Note>
  );
}
