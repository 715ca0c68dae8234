/** The audit trail, people and tokens. */
import { queryOptions } from "@tanstack/react-query";

import { client, ifMatch, take, type Page, type Schemas } from "./client";
import type { ListQuery } from "./catalog";
import { keys } from "./query-keys";

export type AuditEntry = Schemas["AuditEntry"];
export type User = Schemas["User"];
export type Token = Schemas["Token"];

export const auditQuery = (query: ListQuery) =>
  queryOptions({
    queryKey: keys.audit.list(query),
    queryFn: async ({ signal }): Promise<Page<AuditEntry>> =>
      await take(client.GET("/api/v1/audit", { params: { query }, signal })),
  });

export const usersQuery = (query: ListQuery) =>
  queryOptions({
    queryKey: keys.users.list(query),
    queryFn: async ({ signal }): Promise<Page<User>> =>
      await take(client.GET("/api/v1/users", { params: { query }, signal })),
  });

export const userCreate = (body: Schemas["UserRequest"]) =>
  take(client.POST("/api/v1/users", { body }));

export const userUpdate = (id: string, version: number, body: Schemas["PatchedUserRequest"]) =>
  take(
    client.PATCH("/api/v1/users/{id}", {
      params: { path: { id }, header: ifMatch(version) },
      body,
    }),
  );

export const tokensQuery = (query: ListQuery) =>
  queryOptions({
    queryKey: keys.tokens.list(query),
    queryFn: async ({ signal }): Promise<Page<Token>> =>
      await take(client.GET("/api/v1/tokens", { params: { query }, signal })),
  });

export const tokenCreate = (body: Schemas["TokenRequest"]) =>
  take(client.POST("/api/v1/tokens", { body }));

export const tokenRevoke = (id: string) =>
  take(client.DELETE("/api/v1/tokens/{id}", { params: { path: { id } } }));
