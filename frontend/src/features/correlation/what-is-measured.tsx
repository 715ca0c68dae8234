/** What agents reported of a topic's publishers, said before an analysis of it is asked for. */
import { useQuery } from "@tanstack/react-query";

import { publisherTimesQuery, type PublisherTimes } from "@/api/correlation";
import { Note } from "@/components/ui/dialogs";
import { QueryBody } from "@/components/ui/panel";
import { countText, fixed } from "@/lib/numbers";
import { clockText } from "@/lib/time";

/** Two are the fewest that can burst together. */
const FEWEST = 2;

function measuredText({
  publishers,
  heard,
  timed,
  wrong_clock: clocks,
  unreported,
  shortened,
  since,
  messages,
}: PublisherTimes): string {
  if (publishers === 0) return "The catalogue has no publisher of this topic.";
  const left =
    unreported > 0
      ? ` Of a broker with more, agents report 5,000 publishers at most: ${countText(unreported, "connection")} of publishers, of any topic, ${unreported === 1 ? "is" : "are"} left out.`
      : "";
  if (heard === 0)
    return `In the last 30 min no agent reported a message of the ${countText(publishers, "publisher")} of this topic.${left}`;
  const of = `${fixed(heard)} of ${countText(publishers, "publisher")} heard`;
  const apart = `${fixed(timed)} with moments that can be told apart`;
  const from = since === null ? "" : `, since ${clockText(since)} UTC`;
  const often = heard - timed - clocks;
  const more = [
    often > 0 ? ` ${countText(often, "other sends", "others send")} too often for that.` : "",
    clocks > 0
      ? ` ${countText(clocks, "other is", "others are")} at brokers whose clocks are wrong by more than 10 min.`
      : "",
    left,
    shortened ? " There are older reports, too." : "",
  ].join("");
  return `${of}, ${apart}${from}: ${countText(messages, "message")}.${more}`;
}

export function WhatIsMeasured({ topic }: { topic: string }) {
  const times = useQuery(publisherTimesQuery(topic));
  return (
    <QueryBody query={times} what="What is measured" rows={1}>
      {(measured) => (
        <Note tone={measured.timed < FEWEST ? "warn" : ""}>{measuredText(measured)}</Note>
      )}
    </QueryBody>
  );
}
