/** One upload at a time: how much of it has gone, and its break-off. */
import { useEffect, useRef, useState } from "react";

import { interestsUpload, type ImportDraft, type InterestImport } from "./interest-imports";

export type Sending = { dry: boolean; bytes: number; sent: number };

/** A file that was saved again since it was chosen cannot be read any more. */
async function isReadable(file: File): Promise<boolean> {
  try {
    await file.slice(0, 1).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

export class FileChanged extends Error {}

export function useUpload(system: string) {
  const [sending, setSending] = useState<Sending | null>(null);
  const running = useRef<AbortController | null>(null);
  /** Kept until an answer has come: sent again after a break it cannot start a second import. */
  const key = useRef({ of: "", value: "" });
  useEffect(() => () => running.current?.abort(), []);
  useEffect(() => {
    if (sending === null) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [sending]);

  /** The import that the server began. Throws what the server refuses, FileChanged, or an AbortError
   * after `cancel`. */
  const send = async (
    draft: ImportDraft & { file: File },
    dry: boolean,
  ): Promise<InterestImport> => {
    const { file, ...rest } = draft;
    const of = JSON.stringify([file.name, file.size, file.lastModified, rest, dry]);
    if (key.current.of !== of) key.current = { of, value: crypto.randomUUID() };
    const abort = new AbortController();
    running.current = abort;
    setSending({ dry, bytes: file.size, sent: 0 });
    try {
      if (!(await isReadable(file))) throw new FileChanged();
      const row = await interestsUpload(
        draft,
        { system, dry_run: dry, key: key.current.value },
        {
          onSent: (sent) => setSending({ dry, bytes: file.size, sent: Math.min(sent, file.size) }),
          signal: abort.signal,
        },
      );
      key.current = { of: "", value: "" };
      return row;
    } catch (error) {
      // While it was being sent.
      if (error instanceof TypeError && !(await isReadable(file))) throw new FileChanged();
      if (!(error instanceof TypeError)) key.current = { of: "", value: "" };
      throw error;
    } finally {
      running.current = null;
      setSending(null);
    }
  };
  return { sending, send, cancel: () => running.current?.abort() };
}
