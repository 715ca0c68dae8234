/** Who is signed in. */
import { queryOptions, useQuery } from "@tanstack/react-query";

import { client, keepCsrfToken, take, type Schemas } from "./client";
import { keys } from "./query-keys";

export type Session = Schemas["Session"];

async function keeping(request: Promise<Session>): Promise<Session> {
  const session = await request;
  keepCsrfToken(session.csrf_token);
  return session;
}

export const sessionQuery = queryOptions({
  queryKey: keys.session,
  queryFn: ({ signal }) => keeping(take(client.GET("/api/v1/session", { signal }))),
  staleTime: 5 * 60_000,
});

export const useSession = () => useQuery(sessionQuery);

/** A command of the installation, such as create_system or start_run. */
export function useMay(command: Schemas["SessionCommandEnum"]): boolean {
  return useSession().data?.allowed_commands.includes(command) ?? false;
}

export const signIn = (username: string, password: string) =>
  keeping(take(client.POST("/api/v1/session", { body: { username, password } })));

export async function signOut(): Promise<void> {
  await take(client.DELETE("/api/v1/session"));
}

/** Ends one's other sessions and all tokens; this session goes on. */
export async function passwordChange(current: string, password: string): Promise<void> {
  await take(client.POST("/api/v1/session/password", { body: { current, password } }));
}
