/** What is computed and what is planned, in the words of the features that know it. Runs, plans and
 * recomputation find here how a kind is called and where its answers are; they know none by name. */
import type { QueryClient } from "@tanstack/react-query";
import type { ComponentType } from "react";

import { to } from "./kinds";
import { manifests } from "./manifest";

import type { Branch } from "@/api/live";
import type { RunDetail } from "@/api/runs";
import type { System } from "@/api/systems";
import type { IconName } from "@/components/ui/icons";

/** How schedules and triggers compute it again. */
export type Recomputed = {
  /** In a form, such as "The allocation". */
  label: string;
  /** In a table. */
  word: string;
  about: string;
  /** What is large is loaded here: it is asked for when a form opens. */
  methods: (queries: QueryClient) => Promise<readonly { name: string; title: string }[]>;
  /** What is meant where no method is chosen. */
  anyMethod: string;
  /** The least net benefit that is worth a plan, where answers have one. */
  benefit?: { unit: string; hint: string };
};

/** A kind of computation. */
export type Computation = {
  /** As the API says it of a run. */
  kind: string;
  /** Among all kinds. */
  order: number;
  /** Of a run, such as "What-if study". */
  title: string;
  /** What a run answers, such as "study". */
  noun: string;
  icon: IconName;
  /** Where an answer opens. */
  answer: (system: string, id: string) => string;
  /** Where the answers of a system are listed. */
  list: (system: string) => string;
  /** Where the next is asked for, and about what. */
  ask: (system: string, about?: Record<string, string>) => string;
  /** The dialog that asks, where it opens on the page of another feature. */
  Ask?: ComponentType<{ system: System; open: boolean; onClose: () => void }>;
  /** Why its run found that nothing fits, on the page of the run. */
  Infeasible?: ComponentType<{ run: RunDetail }>;
  /** Branches of queries that its runs move, beside those of runs themselves. */
  fresh?: readonly Branch[];
  /** It goes on by iterations to an ever better utility. */
  converges?: boolean;
  /** What `done` of `total` counts while it runs. */
  counted?: { label: string; note: string };
  /** Parameters that its own page shows. */
  shownThere?: readonly string[];
  /** What a cancelled run leaves. */
  onCancel: string;
  /** What was frozen, where it is no problem in one JSON document. */
  snapshot?: { label: string; extension: string };
  recomputed?: Recomputed;
};

/** A kind of plan. */
export type PlanKind = {
  kind: string;
  word: string;
  /** In rules: "Allocations" need so many approvals. */
  many: string;
  icon: IconName;
};

/** An identifier that no feature knows, as words. */
const wordOf = (kind: string) => kind.charAt(0).toUpperCase() + kind.slice(1).replaceAll("_", " ");

export const computations = (): Computation[] =>
  manifests()
    .flatMap((manifest) => manifest.computations ?? [])
    .sort((a, b) => a.order - b.order);

export const computationOf = (kind: string): Computation | undefined =>
  computations().find((one) => one.kind === kind);

/** A kind that no feature knows is called by its identifier. */
export const computationTitle = (kind: string): string =>
  computationOf(kind)?.title ?? wordOf(kind);

/** Where an answer opens; of a kind that nobody knows there is the run alone. */
export const answerAddress = (kind: string, system: string | null, id: string): string =>
  computationOf(kind)?.answer(system ?? "", id) ?? to.runs;

export const listAddress = (kind: string, system: string): string =>
  computationOf(kind)?.list(system) ?? to.topology(system);

export const askAddress = (kind: string, system: string, about?: Record<string, string>): string =>
  computationOf(kind)?.ask(system, about) ?? to.topology(system);

export const planKinds = (): PlanKind[] =>
  manifests()
    .flatMap((manifest) => manifest.planKinds ?? [])
    .sort((a, b) => a.word.localeCompare(b.word));

/** The words of a kind of plan; a kind that no feature knows names itself. */
export function planKind(kind: string): PlanKind {
  const word = wordOf(kind);
  return (
    planKinds().find((one) => one.kind === kind) ?? {
      kind,
      word,
      many: `${word} plans`,
      icon: "plan",
    }
  );
}
