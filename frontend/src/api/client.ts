/** The one door to the server: the generated contract, the CSRF token, and problems as errors. */
import createClient, { type Middleware } from "openapi-fetch";

import type { components, paths } from "./schema";

import { ProblemError, problemFrom } from "@/lib/problem";

export type Schemas = components["schemas"];

export type Page<Row> = {
  count: number;
  next?: string | null;
  previous?: string | null;
  results: Row[];
};

let csrfToken = "";
const signedOutListeners = new Set<() => void>();

/** Every answer to a session request carries the token that the next write must send back. */
export function keepCsrfToken(token: string) {
  csrfToken = token;
}

/** Called when the server no longer knows who this is. */
export function onSignedOut(listener: () => void): () => void {
  signedOutListeners.add(listener);
  return () => signedOutListeners.delete(listener);
}

const ACCEPTED = "application/json, application/problem+json";

const guard: Middleware = {
  onRequest({ request }) {
    request.headers.set("Accept", ACCEPTED);
    if (!["GET", "HEAD"].includes(request.method)) request.headers.set("X-CSRFToken", csrfToken);
    return request;
  },
  onResponse({ response, request }) {
    const isSession = new URL(request.url).pathname === "/api/v1/session";
    if (response.status === 401 && !isSession) signedOutListeners.forEach((listener) => listener());
  },
};

export const client = createClient<paths>({
  baseUrl: location.origin,
  credentials: "same-origin",
  // Looked up at each call, so that tests can answer in the server's place.
  fetch: (request) => globalThis.fetch(request),
});
client.use(guard);

/** Send a file with news of how much of it has gone: fetch has none. A break-off by `signal` rejects
 * with an AbortError. */
export function upload<Data>(
  address: string,
  file: Blob,
  {
    headers,
    onSent,
    signal,
  }: { headers: Record<string, string>; onSent: (bytes: number) => void; signal: AbortSignal },
): Promise<Data> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address);
    const all = { Accept: ACCEPTED, "X-CSRFToken": csrfToken, ...headers };
    for (const [name, value] of Object.entries(all)) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => onSent(event.loaded);
    request.upload.onload = () => onSent(file.size);
    request.onload = () => {
      if (request.status === 401) signedOutListeners.forEach((listener) => listener());
      const body = readJson(request.responseText);
      if (request.status < 300) resolve(body as Data);
      else reject(new ProblemError(problemFrom(request.status, body)));
    };
    // As fetch does.
    request.onerror = () => reject(new TypeError("The request failed."));
    request.onabort = () => reject(new DOMException("The upload was broken off.", "AbortError"));
    if (signal.aborted) {
      reject(new DOMException("The upload was broken off.", "AbortError"));
      return;
    }
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file);
  });
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A page of a server in between is no problem document.
    return null;
  }
}

type Answer<Data> = { data?: Data; error?: unknown; response: Response };

/** The data of an answer, or the problem thrown. */
export async function take<Data>(request: Promise<Answer<Data>>): Promise<Data> {
  const { data, error, response } = await request;
  if (!response.ok) throw new ProblemError(problemFrom(response.status, error));
  return data as Data;
}

/** Writes name the version they edit. */
export const ifMatch = (version: number) => ({ "If-Match": `"${version}"` });

/** One key per form: a repeat of the same creating request is harmless. */
export const idempotencyKey = () => ({ "Idempotency-Key": crypto.randomUUID() });
