/** Parts of a topic's bucket that follow its traffic: the standing order, its decisions, stop and resume. */
import { queryOptions } from "@tanstack/react-query";

import { client, take, type Schemas } from "./client";
import { keys } from "./query-keys";

/** What a plan orders: how parts follow the traffic. */
export type AdaptationOrder = Required<Schemas["AdaptationOrderRequest"]>;
/** What one broker gains or gives by a decision. */
export type Move = Schemas["PartMove"];
export type Decision = Schemas["AdaptationDecision"];
/** A part in force at one broker, what is asked of the broker now, and what it measures. */
export type AdaptedPart = Schemas["AdaptedPart"];
export type Adaptation = Schemas["Adaptation"];

const EVERY_MS = 1_000;
const SELDOM_MS = 10_000;

/** Below this share of a part nothing has moved: sums of decimals leave as much. */
const NOISE = 1e-6;
export const isElse = (now: number, then: number): boolean =>
  Math.abs(now - then) > NOISE * Math.max(now, then, NOISE);

/** Whether the broker is asked for another part than that in force. */
export const isMoved = (part: AdaptedPart): boolean =>
  isElse(part.rate_per_s, part.in_force_rate_per_s) || isElse(part.size, part.in_force_size);

const isOpen = ({ state }: Decision) => state === "shrinking" || state === "growing";

/** Whether parts may move at any moment, or have not come back yet: also after a stop. */
export const isMoving = ({ state, decisions, parts }: Adaptation): boolean =>
  state === "running" ||
  decisions.some(isOpen) ||
  parts.some((part) => isMoved(part) || !part.is_confirmed);

export const adaptationQuery = (topic: string) =>
  queryOptions({
    queryKey: keys.adaptation.one(topic),
    queryFn: ({ signal }): Promise<Adaptation> =>
      take(
        client.GET("/api/v1/topics/{id}/adaptation", { params: { path: { id: topic } }, signal }),
      ),
    refetchInterval: ({ state: { data } }) => (data && isMoving(data) ? EVERY_MS : SELDOM_MS),
  });

/** Parts come back to those in force, at once and without a plan. */
export const stopAdaptation = (topic: string, note: string): Promise<Adaptation> =>
  take(
    client.POST("/api/v1/topics/{id}/adaptation/stop", {
      params: { path: { id: topic } },
      body: { note },
    }),
  );

export const resumeAdaptation = (topic: string, note: string): Promise<Adaptation> =>
  take(
    client.POST("/api/v1/topics/{id}/adaptation/resume", {
      params: { path: { id: topic } },
      body: { note },
    }),
  );
