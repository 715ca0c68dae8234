/** What plans need before they may run: one policy per system and the installation's default. */
import { queryOptions } from "@tanstack/react-query";

import { client, ifMatch, take, type Schemas } from "./client";
import { keys } from "./query-keys";

export type Policy = Schemas["Policy"];
export type ApprovalRule = Schemas["ApprovalRule"];
export type Window = Schemas["Window"];

/** The policy of one system, or the installation's default. */
export const policyQuery = (system: string | null) =>
  queryOptions({
    queryKey: keys.policies.of(system),
    queryFn: async ({ signal }): Promise<Policy> => {
      const page = await take(
        client.GET("/api/v1/policies", {
          params: { query: system === null ? {} : { system } },
          signal,
        }),
      );
      const found = page.results.find((policy) => policy.system === system);
      if (found === undefined) throw new Error("The server gave no policy.");
      return found;
    },
  });

export const policyUpdate = (id: string, version: number, body: Schemas["PatchedPolicyRequest"]) =>
  take(
    client.PATCH("/api/v1/policies/{id}", {
      params: { path: { id }, header: ifMatch(version) },
      body,
    }),
  );
