/** The life of the plan, newest first: who did what, when, and what they said. */
import { memo } from "react";

import { EVENT_ICONS, eventTone } from "./words";

import type { PlanDetail } from "@/api/plans";
import { Icon } from "@/components/ui/icons";
import { Panel } from "@/components/ui/panel";
import { clockText, exactTime } from "@/lib/time";

/** "Ines Moreau sent for review", where the title begins with the verb. */
const sentence = (title: string) => title.charAt(0).toLowerCase() + title.slice(1);

export const HistoryPanel = memo(function HistoryPanel({ plan }: { plan: PlanDetail }) {
  const events = [...plan.events].reverse();
  return (
    <Panel title="Audit" right={<span className="faint">UTC</span>}>
      {events.length === 0 ? (
        <p className="muted">Nothing has happened to this plan yet.</p>
      ) : (
        <ol className="audit">
          {events.map((event, index) => {
            const tone = eventTone(event.command);
            return (
              <li key={`${event.at} ${index}`}>
                <span
                  className="dot"
                  style={
                    tone
                      ? { background: `var(--${tone}-soft)`, color: `var(--${tone})` }
                      : undefined
                  }
                >
                  <Icon name={EVENT_ICONS[event.command] ?? "history"} small />
                </span>
                <div>
                  <b className="strong">{event.actor || "Weir"}</b> {sentence(event.title)}
                  {event.note ? <p>{event.note}</p> : null}
                </div>
                <time dateTime={event.at} title={exactTime(event.at)}>
                  {clockText(event.at)}
                </time>
              </li>
            );
          })}
        </ol>
      )}
    </Panel>
  );
});
