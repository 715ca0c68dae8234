/** What jsdom lacks and every screen needs. */
import "@testing-library/jest-dom/vitest";

import { notifications } from "@mantine/notifications";
import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";

import { gathered } from "@/app/manifests";
import { register } from "@/lib/manifest";

register(gathered);

// A page that draws a map needs longer than a second where many tests share a core.
configure({ asyncUtilTimeout: 5000 });

window.matchMedia = (query: string) =>
  ({
    matches: false,
    media: query,
    onchange: null,
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
    dispatchEvent: () => false,
  }) as unknown as MediaQueryList;

class Observer {
  observe() {
    return undefined;
  }
  unobserve() {
    return undefined;
  }
  disconnect() {
    return undefined;
  }
}

globalThis.ResizeObserver = Observer;
Element.prototype.scrollIntoView = () => undefined;
HTMLCanvasElement.prototype.getContext = () => null;
// Charts refuse to draw into a box without a size, and jsdom lays nothing out.
Object.defineProperty(HTMLElement.prototype, "clientWidth", { value: 800 });
Object.defineProperty(HTMLElement.prototype, "clientHeight", { value: 400 });

// Files share what they import: nothing of one test is there for the next.
afterEach(() => {
  cleanup();
  notifications.clean();
  localStorage.clear();
});
