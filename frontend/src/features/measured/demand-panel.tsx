/** What is wanted of a topic and its classes, or of one class: measured, forecast, used. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { demandQuery } from "@/api/demand";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { WantedTable } from "@/components/ui/wanted-table";
import { clockText } from "@/lib/time";

const SUBJECTS = ["topic", "class"] as const;

export function DemandPanel({
  system,
  topic,
  only,
}: {
  system: string;
  topic: string;
  /** The id of the class that is shown alone. */
  only?: string;
}) {
  const demand = useQuery(demandQuery(system, { topic }));
  return (
    <Panel
      title={only === undefined ? "Demand, msg/s and consumers" : "Demand, consumers"}
      sub={
        demand.data &&
        `measured from ${clockText(demand.data.since)} to ${clockText(demand.data.until)} UTC, ` +
          `used: ${demand.data.estimate_name ?? "the model"}`
      }
      right={
        <Link className="btn sm" to={`/systems/${system}/demand`}>
          All demand
        </Link>
      }
      flush
    >
      <QueryBody query={demand} what="The demand" rows={2}>
        {({ rows }) => {
          const shown = rows.filter((row) => only === undefined || row.id === only);
          return shown.length === 0 ? (
            <Empty>Nothing is wanted of it in the model.</Empty>
          ) : (
            SUBJECTS.map((subject) => {
              const some = shown.filter((row) => row.subject === subject);
              return some.length === 0 ? null : (
                <WantedTable key={subject} system={system} subject={subject} rows={some} />
              );
            })
          );
        }}
      </QueryBody>
    </Panel>
  );
}
