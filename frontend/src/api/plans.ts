/** Plans and their executions: lists, one of each, and the commands that a person may give. */
import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { client, ifMatch, take, type Page, type Schemas } from "./client";
import { keys } from "./query-keys";
import type { operations } from "./schema";

export type Plan = Schemas["Plan"];
export type PlanDetail = Schemas["PlanDetail"];
export type PlanState = Plan["state"];
export type PlanStep = PlanDetail["steps"][number];
export type PlanAction = PlanStep["actions"][number];
export type PlanChange = PlanDetail["changes"][number];
export type PlanCheck = PlanDetail["checks"][number];
export type PlanApproval = PlanDetail["approvals"][number];
export type PlanEvent = PlanDetail["events"][number];
export type PlanLevels = Schemas["PlanLevels"];
export type Promised = PlanDetail["promise"][number];

export type Execution = Schemas["ExecutionDetail"];
export type ExecutionStep = Execution["steps"][number];
export type ExecutionAction = ExecutionStep["actions"][number];

/** An execution in one of these still holds its system. */
export const MOVING: readonly Execution["state"][] = [
  "pending",
  "running",
  "pausing",
  "paused",
  "stopping",
  "rolling_back",
];

export type PlansQuery = NonNullable<operations["plans_list"]["parameters"]["query"]>;

export const plansAsked = async (query: PlansQuery, signal: AbortSignal): Promise<Page<Plan>> =>
  await take(client.GET("/api/v1/plans", { params: { query }, signal }));

export const plansQuery = (query: PlansQuery) =>
  queryOptions({
    queryKey: query.waiting_for ? keys.plans.waiting(query) : keys.plans.list(query),
    queryFn: ({ signal }) => plansAsked(query, signal),
  });

/** What waits for the caller's decision: the navigation counts it, Home lists the first. */
export const waitingPlansQuery = plansQuery({ waiting_for: "me", page_size: 4 });

export type Outcome = Schemas["Outcome"];
export type Outcomes = Schemas["Outcomes"];
export type OutcomeDetail = Schemas["OutcomeDetail"];
export type PromisePart = Schemas["PromisePart"];
export type OutcomesQuery = NonNullable<operations["plans_outcomes"]["parameters"]["query"]>;

/** Plans carried out lately: what each promised and what was measured, with the record of all. */
export const outcomesQuery = (query: OutcomesQuery) =>
  queryOptions({
    queryKey: keys.plans.outcomes(query),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/plans/outcomes", { params: { query }, signal })),
  });

/** What came of one executed plan, part by part of its promise. */
export const outcomeQuery = (id: string) =>
  queryOptions({
    queryKey: keys.plans.outcome(id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/plans/{id}/outcome", { params: { path: { id } }, signal })),
  });

export const planQuery = (id: string) =>
  queryOptions({
    queryKey: keys.plans.one(id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/plans/{id}", { params: { path: { id } }, signal })),
  });

/** How full the brokers are at every stop, by the server's model; none where it does not know. */
export const planLevelsQuery = (id: string) =>
  queryOptions({
    queryKey: keys.plans.levels(id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/plans/{id}/levels", { params: { path: { id } }, signal })),
  });

export const executionQuery = (id: string) =>
  queryOptions({
    queryKey: keys.executions.one(id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/executions/{id}", { params: { path: { id } }, signal })),
  });

/** The plans made from one allocation, newest first. */
export function usePlansOf(system: string | null, allocation: string, number: number): Plan[] {
  const plans = useQuery({
    ...plansQuery({ system: system ?? "", search: `A-${number}`, page_size: 50 }),
    enabled: system !== null,
  });
  return (plans.data?.results ?? []).filter((plan) => plan.source.id === allocation);
}

const at = (id: string) => ({ params: { path: { id } } });

/** A plan as somebody sees it: a command is refused where it is no longer that. */
type Seen = Pick<Plan, "id" | "version">;

const asSeen = ({ id, version }: Seen) => ({
  params: { path: { id }, header: ifMatch(version) },
});

/** A draft of what would bring the allocation into force. */
export const planFromAllocation = (id: string) =>
  take(client.POST("/api/v1/allocations/{id}/plan", { ...at(id), body: {} }));

/** A draft of what would bring the system's model into force as it is. */
export const planOfModel = (system: string) =>
  take(client.POST("/api/v1/plans", { body: { system, title: "" } }));

export type ModelState = Schemas["ModelState"];
export type ModelStateQuery = NonNullable<
  operations["model_state_retrieve"]["parameters"]["query"]
>;

/** Flows and classes as agents carry and serve them, beside what the model asks for. */
export const modelStateQuery = (query: ModelStateQuery, version: number) =>
  queryOptions({
    // With an edit of the object the model may say something else.
    queryKey: keys.plans.modelState({ ...query, version }),
    queryFn: ({ signal }) => take(client.GET("/api/v1/model-state", { params: { query }, signal })),
  });

/** A draft that rolls an executed plan back; it needs approvals of its own. */
export function useRollBackPlan(plan: Seen) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: { reason: string; accept_overload: boolean }) =>
      take(client.POST("/api/v1/plans/{id}/roll-back", { ...asSeen(plan), body })),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.plans.all }),
  });
}

export type PlanCommand =
  | { command: "submit" | "withdraw" }
  | { command: "approve"; comment: string; content_hash: string }
  | { command: "reject"; comment: string }
  | { command: "discard" | "accept-overload"; reason: string };

function give(plan: Seen, { command, ...body }: PlanCommand): Promise<PlanDetail> {
  const given = { ...asSeen(plan), body: body as never };
  switch (command) {
    case "submit":
      return take(client.POST("/api/v1/plans/{id}/submit", asSeen(plan)));
    case "withdraw":
      return take(client.POST("/api/v1/plans/{id}/withdraw", asSeen(plan)));
    case "approve":
      return take(client.POST("/api/v1/plans/{id}/approve", given));
    case "reject":
      return take(client.POST("/api/v1/plans/{id}/reject", given));
    case "discard":
      return take(client.POST("/api/v1/plans/{id}/discard", given));
    case "accept-overload":
      return take(client.POST("/api/v1/plans/{id}/accept-overload", given));
  }
}

/** A command answers with the plan as it is afterwards; the page shows that at once. A plan that was
 * changed meanwhile refuses it, and is read again like after every command. */
export function usePlanCommand(seen: Seen) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (command: PlanCommand) => give(seen, command),
    onSuccess: (plan) => queries.setQueryData(keys.plans.one(seen.id), plan),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.plans.all }),
  });
}

/** The change record that the plan has elsewhere; empty takes it away. */
export function useChangeTicket() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ seen, ticket }: { seen: Seen; ticket: string }) =>
      take(
        client.PATCH("/api/v1/plans/{id}", { ...asSeen(seen), body: { change_ticket: ticket } }),
      ),
    onSuccess: (plan) => queries.setQueryData(keys.plans.one(plan.id), plan),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.plans.all }),
  });
}

export function useExecutePlan(plan: Seen) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => take(client.POST("/api/v1/plans/{id}/execute", asSeen(plan))),
    onSuccess: (execution) => queries.setQueryData(keys.executions.one(execution.id), execution),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.plans.all }),
  });
}

export function useDryRun(id: string) {
  return useMutation({
    mutationFn: async () => {
      const { results } = await take(client.POST("/api/v1/plans/{id}/dry-run", at(id)));
      return { checks: results, at: new Date().toISOString() };
    },
  });
}

export type ExecutionCommand = "pause" | "resume" | "stop" | "roll-back";

/** `reason`: why, or of *resume* why it cannot wait for the maintenance window. */
export type ExecutionOrder = { command: ExecutionCommand; reason?: string };

function order(id: string, { command, reason }: ExecutionOrder): Promise<Execution> {
  const given = { ...at(id), body: { reason: reason ?? "" } };
  switch (command) {
    case "pause":
      return take(client.POST("/api/v1/executions/{id}/pause", given));
    case "resume":
      return take(
        client.POST("/api/v1/executions/{id}/resume", {
          ...at(id),
          body: { ...given.body, override_window: reason !== undefined },
        }),
      );
    case "stop":
      return take(client.POST("/api/v1/executions/{id}/stop", given));
    case "roll-back":
      return take(client.POST("/api/v1/executions/{id}/roll-back", given));
  }
}

export function useExecutionCommand(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (asked: ExecutionOrder) => order(id, asked),
    onSuccess: (execution) => queries.setQueryData(keys.executions.one(id), execution),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: keys.executions.one(id) }),
        queries.invalidateQueries({ queryKey: keys.plans.all }),
      ]),
  });
}

export type Decision = ExecutionAction["decisions"][number];

/** A person ends an action that waits; the risk was read in the dialog that asked. */
export function useDecide(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({
      action,
      outcome,
      reason,
    }: {
      action: string;
      outcome: Decision["outcome"];
      reason: string;
    }) =>
      take(
        client.POST("/api/v1/executions/{id}/actions/{action_id}/decide", {
          params: { path: { id, action_id: action } },
          body: { outcome, reason, confirmed: true },
        }),
      ),
    onSuccess: (execution) => queries.setQueryData(keys.executions.one(id), execution),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: keys.executions.one(id) }),
        queries.invalidateQueries({ queryKey: keys.plans.all }),
      ]),
  });
}

export const exportAddress = (id: string, as: "json" | "text") =>
  `/api/v1/plans/${id}/export?as=${as}`;
