/** What is asked of sums of records: a quantity over a time that ends now. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { client, take, type Schemas } from "@/api/client";
import { keys } from "@/api/query-keys";

export type Quantity = Schemas["RecordQuantityEnum"];
export type Group = Schemas["RecordGroupEnum"];
export type DelayKind = "delivery" | "answer" | "gate";
export type Sums = Schemas["RecordSums"];
export type Quality = Schemas["RecordQuality"];
export type Choices = Schemas["RecordMetrics"];

const MINUTE_S = 60;
const HOUR_S = 3600;

/** What may be chosen, with the step that the server takes for it: the time ends with a whole one, so
 * that steps stay where they are while time goes on. */
export const RANGES = {
  "1h": { label: "1 h", words: "hour", lengthS: HOUR_S, stepS: MINUTE_S },
  "6h": { label: "6 h", words: "6 hours", lengthS: 6 * HOUR_S, stepS: 2 * MINUTE_S },
  "24h": { label: "24 h", words: "24 hours", lengthS: 24 * HOUR_S, stepS: 10 * MINUTE_S },
  "7d": { label: "7 d", words: "7 days", lengthS: 7 * 24 * HOUR_S, stepS: HOUR_S },
  "30d": { label: "30 d", words: "30 days", lengthS: 30 * 24 * HOUR_S, stepS: 3 * HOUR_S },
} as const;
export type Range = keyof typeof RANGES;

export type Question = {
  range: Range;
  quantity: Quantity;
  by: Group;
  kind?: DelayKind;
  metric?: string;
  topic?: string;
  consumer_class?: string;
  broker?: string;
};

/** The time of a range, up to the end of the step that has begun. */
export function timeOf(range: Range, now: number): { since: string; until: string } {
  const { lengthS, stepS } = RANGES[range];
  const untilS = Math.floor(now / 1000 / stepS + 1) * stepS;
  const text = (seconds: number) => new Date(seconds * 1000).toISOString();
  return { since: text(untilS - lengthS), until: text(untilS) };
}

export const sumsQuery = (system: string, question: Question) =>
  queryOptions({
    queryKey: keys.records.sums(system, question),
    queryFn: ({ signal }): Promise<Sums> => {
      const { range, ...rest } = question;
      const query = { system, ...rest, ...timeOf(range, Date.now()), step_s: RANGES[range].stepS };
      // The client asks for JSON; the contract has a table of text, too.
      return take(
        client.GET("/api/v1/record-sums", { params: { query }, signal }),
      ) as Promise<Sums>;
    },
    placeholderData: keepPreviousData,
  });

export const choicesQuery = (system: string, range: Range) =>
  queryOptions({
    queryKey: keys.records.choices(system, range),
    queryFn: ({ signal }): Promise<Choices> =>
      take(
        client.GET("/api/v1/record-metrics", {
          params: { query: { system, ...timeOf(range, Date.now()) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

/** How complete what was measured of a time is. */
export const qualityQuery = (system: string, range: Range) =>
  queryOptions({
    queryKey: keys.records.quality(system, range),
    queryFn: ({ signal }): Promise<Quality> =>
      take(
        client.GET("/api/v1/record-quality", {
          params: { query: { system, ...timeOf(range, Date.now()) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

/** Where the same numbers are as a file. */
export function csvAddress(system: string, question: Question, sums: Sums): string {
  const { since, until, step_s: step } = sums;
  const asked = Object.entries(question).filter(([name]) => name !== "range");
  const query = new URLSearchParams([["system", system], ...asked]);
  for (const [name, value] of Object.entries({ since, until, step_s: String(step) })) {
    query.set(name, value);
  }
  return `/api/v1/record-sums?${query.toString()}&format=csv`;
}
