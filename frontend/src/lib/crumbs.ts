/** The breadcrumb of the page in view; the page says it, the top bar shows it. */
import { useEffect, useSyncExternalStore } from "react";

export type Crumb = { label: string; to?: string };

let crumbs: readonly Crumb[] = [];
const listeners = new Set<() => void>();

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
};

export const useCrumbs = () => useSyncExternalStore(subscribe, () => crumbs);

export function useSetCrumbs(next: readonly Crumb[]) {
  const key = JSON.stringify(next);
  useEffect(() => {
    crumbs = JSON.parse(key) as Crumb[];
    listeners.forEach((listener) => listener());
  }, [key]);
}
