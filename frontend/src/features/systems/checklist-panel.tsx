/** What the model still needs to be computed, to be planned, to be carried out. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import type { Schemas } from "@/api/client";
import { checklistQuery } from "@/api/systems";
import { Panel, QueryBody } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { to } from "@/lib/kinds";
import { countText } from "@/lib/numbers";

type Item = Schemas["ChecklistItem"];

const STAGES: { stage: Item["stage"]; title: string }[] = [
  { stage: "compute", title: "To be computed" },
  { stage: "plan", title: "To be planned" },
  { stage: "carry_out", title: "To be carried out" },
];

/** Where one mends it; the system itself is this page. */
function placeOf(system: string, { place }: Item): { link: string; word: string } | null {
  switch (place) {
    case "brokers":
      return { link: to.kind(system, "brokers"), word: "Brokers" };
    case "topics":
      return { link: to.kind(system, "topics"), word: "Topics" };
    case "consumer-classes":
      return { link: to.kind(system, "consumer-classes"), word: "Consumer classes" };
    case "overlays":
      return { link: to.kind(system, "overlays"), word: "Overlays" };
    case "telemetry":
      return { link: to.telemetry(system), word: "Telemetry" };
    case "system":
      return null;
  }
}

function Row({ system, item }: { system: string; item: Item }) {
  const place = item.done ? null : placeOf(system, item);
  return (
    <li>
      <Badge tone={item.done ? "good" : "warn"} icon={item.done ? "check" : "alert"}>
        {item.done ? "There" : "Missing"}
      </Badge>
      <div>
        <b>{item.title}</b>
        <p className="muted">
          {item.detail} {place ? <Link to={place.link}>{place.word}</Link> : null}
        </p>
      </div>
    </li>
  );
}

export function ChecklistPanel({ system, modelVersion }: { system: string; modelVersion: number }) {
  const checklist = useQuery(checklistQuery(system, modelVersion));
  const missing = checklist.data?.filter((item) => !item.done).length;
  return (
    <Panel
      title="What the model needs"
      sub={
        missing === undefined
          ? undefined
          : missing === 0
            ? "everything is there"
            : `${countText(missing, "thing")} missing`
      }
    >
      <QueryBody query={checklist} what="The checklist" rows={6}>
        {(items) => (
          <>
            {STAGES.map(({ stage, title }) => (
              <section key={stage} aria-label={title}>
                <h3>{title}</h3>
                <ul className="checklist">
                  {items
                    .filter((item) => item.stage === stage)
                    .map((item) => (
                      <Row key={item.title} system={system} item={item} />
                    ))}
                </ul>
              </section>
            ))}
          </>
        )}
      </QueryBody>
    </Panel>
  );
}
