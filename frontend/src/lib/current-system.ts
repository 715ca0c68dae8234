/** The system whose pages the navigation shows: the one in the address, else the one last seen. */
import { useEffect, useSyncExternalStore } from "react";

const KEY = "weir-system";
const listeners = new Set<() => void>();

function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

let current = read();

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
};

export function rememberSystem(id: string | null) {
  if (id === current) return;
  current = id;
  try {
    if (id === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, id);
  } catch {
    // Storage may be closed; the choice then lasts for this page.
  }
  listeners.forEach((listener) => listener());
}

export const useRememberedSystem = () => useSyncExternalStore(subscribe, () => current);

/** A page about one system makes it the current one. */
export function useCurrentSystemIs(id: string | null | undefined) {
  useEffect(() => {
    if (id) rememberSystem(id);
  }, [id]);
}
