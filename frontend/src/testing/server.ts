/** A server of sample answers: what the page asks is looked up, and every request is kept. */
import { vi } from "vitest";

export type Asked = {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Headers;
  body: unknown;
  /** Of an upload: so many bytes have gone. */
  sent?: (bytes: number) => void;
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
  const answer = async (one: Asked): Promise<Reply> => {
    asked.push(one);
    const found = answers[`${one.method} ${one.path}`];
    if (found === undefined) {
      return problem(404, "not_found", `no sample answer for ${one.method} ${one.path}`);
    }
    return typeof found === "function" ? await found(one) : found;
  };
  vi.stubGlobal("fetch", async (input: Request | string, init?: RequestInit) => {
    const request = input instanceof Request ? input : new Request(input, init);
    const url = new URL(request.url);
    const text = await request.clone().text();
    const reply = await answer({
      method: request.method,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: bodyOf(request, text),
    });
    return new Response(reply.status === 204 ? null : JSON.stringify(reply.body), {
      status: reply.status,
      headers: { "Content-Type": "application/json" },
    });
  });
  vi.stubGlobal("XMLHttpRequest", uploadsTo(answer));
  return asked;
}

/** A browser's request as uploads use it; an answer that throws is a connection that broke. */
const uploadsTo = (answer: (one: Asked) => Promise<Reply>) =>
  class {
    status = 0;
    responseText = "";
    upload: { onprogress?: (event: { loaded: number }) => void; onload?: () => void } = {};
    onload?: () => void;
    onerror?: () => void;
    onabort?: () => void;
    private method = "";
    private url = new URL(location.origin);
    private readonly headers = new Headers();
    private aborted = false;

    open(method: string, address: string) {
      this.method = method;
      this.url = new URL(address, location.origin);
    }
    setRequestHeader(name: string, value: string) {
      this.headers.set(name, value);
    }
    abort() {
      this.aborted = true;
      this.onabort?.();
    }
    send(file: Blob) {
      void this.exchange(file);
    }
    private async exchange(file: Blob) {
      try {
        const reply = await answer({
          method: this.method,
          path: this.url.pathname,
          query: this.url.searchParams,
          headers: this.headers,
          body: await textOf(file),
          sent: (loaded) => this.upload.onprogress?.({ loaded }),
        });
        if (this.aborted) return;
        this.upload.onload?.();
        this.status = reply.status;
        this.responseText = JSON.stringify(reply.body);
        this.onload?.();
      } catch {
        if (!this.aborted) this.onerror?.();
      }
    }
  };

/** jsdom's files have no text(). */
const textOf = (file: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(new Error("unreadable"));
    reader.readAsText(file);
  });
