/** A server of sample answers: what the page asks is looked up, and every request is kept. */
import { vi } from "vitest";

export type Asked = {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Headers;
  body: unknown;
};

type Reply = { status: number; body: unknown };
type Answer = Reply | ((asked: Asked) => Reply | Promise<Reply>);

export const ok = (body: unknown): Reply => ({ status: 200, body });

export const problem = (status: number, code: string, detail: string, errors: unknown[] = []) => ({
  status,
  body: { type: `urn:weir:problem:${code}`, title: "Refused", status, code, detail, errors },
});

function bodyOf(request: Request, text: string): unknown {
  if (text === "") return null;
  const json = request.headers.get("Content-Type")?.includes("json") ?? true;
  return json ? (JSON.parse(text) as unknown) : text;
}

/** Answers by "METHOD /path"; what is not listed fails the test by its name. */
export function serve(answers: Record<string, Answer>): Asked[] {
  const asked: Asked[] = [];
  vi.stubGlobal("fetch", async (input: Request | string, init?: RequestInit) => {
    const request = input instanceof Request ? input : new Request(input, init);
    const url = new URL(request.url);
    const text = await request.clone().text();
    const one: Asked = {
      method: request.method,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: bodyOf(request, text),
    };
    asked.push(one);
    const found = answers[`${one.method} ${one.path}`];
    const reply =
      found === undefined
        ? problem(404, "not_found", `no sample answer for ${one.method} ${one.path}`)
        : typeof found === "function"
          ? await found(one)
          : found;
    return new Response(reply.status === 204 ? null : JSON.stringify(reply.body), {
      status: reply.status,
      headers: { "Content-Type": "application/json" },
    });
  });
  return asked;
}
