/** What is wanted of topics or of classes: in the model, as measured, as forecast, as used. */
import type { UseQueryResult } from "@tanstack/react-query";

import type { Demand, Wanted } from "@/api/demand";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { WantedTable } from "@/components/ui/wanted-table";
import { fixed } from "@/lib/numbers";
import { clockText } from "@/lib/time";

const FIRST = 15;

type Subject = Wanted["subject"];

export function WantedPanel({
  system,
  subject,
  now,
  search,
}: {
  system: string;
  subject: Subject;
  now: UseQueryResult<Demand>;
  search: string;
}) {
  const what = subject === "topic" ? "topics" : "classes";
  const rows = (now.data?.rows ?? []).filter((row) => row.subject === subject);
  const paged = usePaged(rows, FIRST, subject);
  return (
    <Panel
      title={subject === "topic" ? "Offered to topics, msg/s" : "Consumers of classes"}
      sub={now.data ? measuredText(now.data, rows) : undefined}
      flush
      stale={now.isPlaceholderData}
      footer={paged.open || paged.close ? <PageFoot paged={paged} what={what} /> : undefined}
    >
      <QueryBody query={now} what="The demand" rows={6}>
        {() =>
          rows.length === 0 ? (
            <Empty>
              {search === "" ? `The system has no ${what} yet.` : `No ${what} of that name.`}
            </Empty>
          ) : (
            <WantedTable system={system} subject={subject} rows={paged.visible} />
          )
        }
      </QueryBody>
    </Panel>
  );
}

function measuredText({ since, until }: Demand, rows: readonly Wanted[]): string {
  const measured = rows.filter((row) => row.high !== null).length;
  const when = `from ${clockText(since)} to ${clockText(until)} UTC`;
  return measured === 0 ? `nothing measured ${when}` : `${fixed(measured)} measured ${when}`;
}
