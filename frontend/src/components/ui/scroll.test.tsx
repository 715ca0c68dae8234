import { fireEvent, screen } from "@testing-library/react";
import { vi } from "vitest";

import { Scroll } from "./scroll";

import { renderUi } from "@/testing/render";

/** Boxes are 800 px wide here; `width` is what stands in them. */
function renderWide(width: number) {
  vi.stubGlobal(
    "ResizeObserver",
    class {
      constructor(private readonly look: () => void) {}
      observe() {
        this.look();
      }
      disconnect() {
        return undefined;
      }
    },
  );
  vi.spyOn(HTMLElement.prototype, "scrollWidth", "get").mockReturnValue(width);
  renderUi(
    <Scroll label="Gates">
      <p>eleven columns</p>
    </Scroll>,
  );
  const box = screen.getByText("eleven columns").parentElement;
  if (!box) throw new Error("the text stands in no box");
  return box;
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

it("shows that columns go on to the right until they are scrolled to", () => {
  const box = renderWide(956);
  expect(box).toHaveClass("more");
  expect(box).toHaveAccessibleName("Gates, scrolls");
  box.scrollLeft = 156;
  fireEvent.scroll(box);
  expect(box).not.toHaveClass("more");
  expect(box).toHaveAccessibleName("Gates, scrolls");
});

it("is only a box where everything fits", () => {
  const box = renderWide(800);
  expect(box).not.toHaveClass("more");
  expect(box).not.toHaveAttribute("tabindex");
});
