/** The draft of a utility function: undo, redo, kept in the browser, bound to the version it began on. */
import { useEffect, useState } from "react";

import { begin, change, redo, same, settle, undo, type History } from "./history";

import type { LooseRow, UtilityDraft } from "@/features/catalog/spec";
import type { UtilityKind } from "@/features/catalog/utility-kinds";
import { parameterDraft, readParameters } from "@/lib/parameters";

type Kept = { version: number; value: UtilityDraft; at: string };

const keyOf = (id: string) => `weir.utility-draft.${id}`;

/** What the browser kept; anything that does not read as a draft is forgotten. */
export function readKept(id: string): Kept | null {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(id)) ?? "null") as Partial<Kept> | null;
    if (kept === null || typeof kept.version !== "number") return null;
    if (typeof kept.value?.kind !== "string" || typeof kept.value.parameters !== "object") {
      return null;
    }
    return { version: kept.version, value: kept.value, at: String(kept.at) };
  } catch {
    return null;
  }
}

export function storedDraft(object: LooseRow, kinds: readonly UtilityKind[]): UtilityDraft {
  const kind = typeof object.kind === "string" ? object.kind : "";
  const described = kinds.find((entry) => entry.kind === kind)?.parameters ?? [];
  const values = (object.parameters ?? {}) as Record<string, unknown>;
  return { kind, parameters: parameterDraft(described, values) };
}

export function useUtilityDraft(latest: LooseRow, kinds: readonly UtilityKind[]) {
  const [kept] = useState(() => readKept(latest.id));
  const [base, setBase] = useState(() => ({
    row: latest,
    version: kept?.version ?? latest.version,
  }));
  const stored = storedDraft(base.row, kinds);
  const [history, setHistory] = useState<History>(() => begin(kept?.value ?? stored));
  const [keptAt, setKeptAt] = useState<string | null>(kept?.at ?? null);
  const draft = history.present;
  const isDirty = !same(draft, stored);

  // News of a later version: nothing edited takes it over, an edit keeps its base and is told.
  if (latest !== base.row && latest.version !== base.row.version) {
    const version = isDirty ? base.version : latest.version;
    setBase({ row: latest, version });
    if (!isDirty) setHistory(begin(storedDraft(latest, kinds)));
  }

  const text = JSON.stringify({ version: base.version, value: draft });
  useEffect(() => {
    if (!isDirty) {
      localStorage.removeItem(keyOf(latest.id));
      return;
    }
    const at = new Date().toISOString();
    try {
      localStorage.setItem(keyOf(latest.id), JSON.stringify({ ...JSON.parse(text), at }));
    } catch {
      return; // a full or forbidden store keeps nothing, and the page does not claim it did
    }
    const told = setTimeout(() => setKeptAt(at), 0);
    return () => clearTimeout(told);
  }, [text, isDirty, latest.id]);

  const described = kinds.find((entry) => entry.kind === draft.kind)?.parameters ?? [];
  return {
    draft,
    stored,
    described,
    isDirty,
    keptAt: isDirty ? keptAt : null,
    version: base.version,
    /** Somebody saved another version after this draft was begun. */
    isBehind: isDirty && base.version !== latest.version,
    canUndo: history.past.length > 0,
    canRedo: history.future.length > 0,
    set: (next: UtilityDraft, mark: string | null = null) =>
      setHistory((old) => change(old, next, mark)),
    settle: () => setHistory(settle),
    undo: () => setHistory(undo),
    redo: () => setHistory(redo),
    /** Back to what is stored; undo brings the draft back. */
    discard: () => {
      setBase({ row: latest, version: latest.version });
      setHistory((old) => change(old, storedDraft(latest, kinds), null));
    },
    /** Keep the draft and let it replace the version that is stored now. */
    overtake: () => setBase({ row: latest, version: latest.version }),
    /** After saving: the stored one is what was saved. */
    adopt: (row: LooseRow) => {
      setBase({ row, version: row.version });
      setHistory(begin(storedDraft(row, kinds)));
    },
    read: () => readParameters(described, draft.parameters),
  };
}

export type UtilityDraftState = ReturnType<typeof useUtilityDraft>;
