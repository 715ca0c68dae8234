/** What agents reported of a topic's publishers, said before an analysis of it is asked for. */
import { useQuery } from "@tanstack/react-query";

import { publisherTimesQuery, type PublisherTimes } from "@/api/correlation";
import { Note } from "@/components/ui/dialogs";
import { QueryBody } from "@/components/ui/panel";
import { countText, fixed } from "@/lib/numbers";
import { clockText } from "@/lib/time";

/** Two are the fewest that can burst together. */
const FEWEST = 2;

function measuredText({ publishers, heard, timed, since, messages }: PublisherTimes): string {
  if (publishers === 0) return "The catalogue has no publisher of this topic.";
  if (heard === 0)
    return `In the last 30 min no agent reported a message of the ${countText(publishers, "publisher")} of this topic.`;
  const of = `${fixed(heard)} of ${countText(publishers, "publisher")} heard`;
  const apart = `${fixed(timed)} with moments that can be told apart`;
  const from = since === null ? "" : `, since ${clockText(since)} UTC`;
  const often =
    timed < heard
      ? ` The other ${fixed(heard - timed)} send too often or too seldom for that.`
      : "";
  return `${of}, ${apart}${from}: ${countText(messages, "message")}.${often}`;
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
