/** Page keys: single keys and two-key sequences, silent while the reader types or a dialog is open. */
import { useEffect, useRef } from "react";

export type Keys = Record<string, (event: KeyboardEvent) => void>;

const SEQUENCE_MS = 1200;

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName) ||
    target.closest("[role='dialog'], [role='menu'], [role='listbox']") !== null
  );
}

/**
 * Names: "g h" for a sequence, "/" or "?" for a character, "ctrl+s" with the control (or command) key.
 * Nothing destructive may be bound to a single key.
 */
export function useKeys(keys: Keys, enabled = true) {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    if (!enabled) return;
    let prefix = "";
    let since = 0;
    const onKey = (event: KeyboardEvent) => {
      const key = event.key.toLowerCase();
      if (event.ctrlKey || event.metaKey) {
        const command = latest.current[`ctrl+${key}`];
        if (command) {
          event.preventDefault();
          command(event);
        }
        return;
      }
      if (event.altKey || event.defaultPrevented || isTyping(event.target)) return;
      if (document.querySelector("[role='dialog']")) return;
      const sequence = Date.now() - since < SEQUENCE_MS ? `${prefix} ${key}` : key;
      const handler = latest.current[sequence] ?? latest.current[key];
      prefix = key;
      since = Date.now();
      if (handler) {
        event.preventDefault();
        if (sequence.includes(" ") && latest.current[sequence]) prefix = "";
        handler(event);
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [enabled]);
}

/** Submit a form as its button would: not while that is disabled or a dialog is open. A field that
 * takes what was typed when it is left takes it before. */
export function submitForm(id: string) {
  const form = document.getElementById(id);
  const focused = document.activeElement;
  if (!(form instanceof HTMLFormElement) || document.querySelector("[role='dialog']")) return;
  if (focused instanceof HTMLElement && form.contains(focused)) focused.blur();
  // What leaving the field changed has to be drawn first.
  setTimeout(() => {
    const button = document.querySelector<HTMLButtonElement>(`[type="submit"][form="${id}"]`);
    if (button !== null && !button.disabled) {
      form.requestSubmit(button);
    }
    if (focused instanceof HTMLElement) focused.focus();
  }, 0);
}
