/** How objectives held: error budgets, burn rates, and the minutes behind them. */
import { queryOptions } from "@tanstack/react-query";

import { client, take, type Page, type Schemas } from "./client";
import { keys } from "./query-keys";

export type SloCompliance = Schemas["SloCompliance"];
export type SloMinutes = Schemas["SloMinutes"];
export type Burn = Schemas["Burn"];

type ComplianceAsked = {
  topic?: string;
  search?: string;
  ordering?: string;
  cursor?: string;
  page_size?: number;
  quantity?: SloCompliance["quantity"];
  standing?: SloCompliance["standing"];
};

export const sloComplianceQuery = (system: string, asked: ComplianceAsked) =>
  queryOptions({
    queryKey: keys.objectives.list(system, asked),
    queryFn: ({ signal }): Promise<Page<SloCompliance>> =>
      take(
        client.GET("/api/v1/slo-compliance", { params: { query: { system, ...asked } }, signal }),
      ),
  });

/** The minutes of one window of an objective. */
export const sloMinutesQuery = (system: string, id: string) =>
  queryOptions({
    queryKey: keys.objectives.minutes(system, id),
    queryFn: ({ signal }): Promise<SloMinutes> =>
      take(client.GET("/api/v1/slo-compliance/{id}/minutes", { params: { path: { id } }, signal })),
  });
