/** Parts of a topic's bucket that follow its traffic: the standing order, its decisions, stop and resume. */
import { queryOptions } from "@tanstack/react-query";
import type { Client } from "openapi-fetch";

import { client, take, type Schemas } from "./client";
import { keys } from "./query-keys";

type Bucket = { rate_per_s: number; size: number };
/** What a plan orders: how parts follow the traffic. */
export type AdaptationOrder = { window_s: number; period_s: number; least_share: number };
/** What one broker gains or gives by a decision. */
export type Move = { broker: string; title: string; before: Bucket; after: Bucket };
export type Decision = {
  id: number;
  at: string;
  cause: "shift" | "backlog" | "bursts" | "restore";
  sentence: string;
  state: "shrinking" | "growing" | "done" | "given_up";
  shrunk_at: string | null;
  ended_at: string | null;
  /** Why it was given up. */
  because: string;
  moves: Move[];
};
/** A part in force at one broker, what is asked of the broker now, and what it measures. */
export type AdaptedPart = {
  broker: string;
  in_force_rate_per_s: number;
  in_force_size: number;
  rate_per_s: number;
  size: number;
  is_confirmed: boolean;
  is_silent: boolean;
  offered_per_s: number | null;
  passed_per_s: number | null;
  waiting: number | null;
  work_peak: number | null;
};
export type Adaptation = {
  state: "off" | "running" | "held" | "stopped";
  because: string;
  window_s: number | null;
  period_s: number | null;
  least_share: number | null;
  since: string | null;
  stopped_at: string | null;
  stopped_by: string;
  note: string;
  contract: { token_rate_per_s: number; bucket: number } | null;
  parts: AdaptedPart[];
  decisions: Decision[];
  allowed_commands: ("stop" | "resume")[];
};
/** The request for a plan of a placement, with what becomes of the adaptation. */
export type PlacementPlanRequest = Schemas["PlacementPlanRequestRequest"] & {
  /** Left out: an order in force goes on; null: it ends. */
  adaptation?: AdaptationOrder | null;
};

// Until the published API has these addresses: then `door` is `client`, and the types are Schemas.
type Path = { path: { id: string } };
type Answers = { 200: { content: { "application/json": Adaptation } } };
type Given = { content: { "application/json": { note: string } } };
type Stating = { parameters: Path; requestBody: Given; responses: Answers };
type Paths = {
  "/api/v1/topics/{id}/adaptation": { get: { parameters: Path; responses: Answers } };
  "/api/v1/topics/{id}/adaptation/stop": { post: Stating };
  "/api/v1/topics/{id}/adaptation/resume": { post: Stating };
};
const door = client as unknown as Client<Paths>;

const EVERY_MS = 1_000;
const SELDOM_MS = 10_000;

const isOpen = ({ state }: Decision) => state === "shrinking" || state === "growing";

/** Whether parts may move at any moment. */
export const isMoving = ({ state, decisions }: Adaptation): boolean =>
  state === "running" || decisions.some(isOpen);

export const adaptationQuery = (topic: string) =>
  queryOptions({
    queryKey: keys.adaptation.one(topic),
    queryFn: ({ signal }): Promise<Adaptation> =>
      take(door.GET("/api/v1/topics/{id}/adaptation", { params: { path: { id: topic } }, signal })),
    refetchInterval: ({ state: { data } }) => (data && isMoving(data) ? EVERY_MS : SELDOM_MS),
  });

/** Parts come back to those in force, at once and without a plan. */
export const stopAdaptation = (topic: string, note: string): Promise<Adaptation> =>
  take(
    door.POST("/api/v1/topics/{id}/adaptation/stop", {
      params: { path: { id: topic } },
      body: { note },
    }),
  );

export const resumeAdaptation = (topic: string, note: string): Promise<Adaptation> =>
  take(
    door.POST("/api/v1/topics/{id}/adaptation/resume", {
      params: { path: { id: topic } },
      body: { note },
    }),
  );
