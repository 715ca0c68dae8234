import { screen, within } from "@testing-library/react";

import { Nav, placeOf } from "./nav";

import { renderPage } from "@/testing/render";
import { page, system, SYSTEM } from "@/testing/samples";
import { ok, serve } from "@/testing/server";

const OTHER = "22222222-2222-4222-8222-222222222223";
const answers = {
  "GET /api/v1/systems": ok(page([system(), system({ id: OTHER, name: "Second" })])),
  "GET /api/v1/plans": ok(page([])),
  "GET /api/v1/agents": ok(page([])),
  "GET /api/v1/brokers": ok(page([])),
};

it("knows to which entry an address belongs", () => {
  const labelOf = (path: string) => placeOf(path)?.label;
  expect(labelOf("/")).toBe("Home");
  expect(labelOf("/systems")).toBe("Systems");
  expect(labelOf(`/systems/${SYSTEM}`)).toBe("Systems");
  expect(labelOf(`/systems/${SYSTEM}/links/new`)).toBe("Topology");
  expect(labelOf(`/systems/${SYSTEM}/overlays/evaluations/1`)).toBe("Topology");
  expect(labelOf(`/systems/${SYSTEM}/slos`)).toBe("Utilities & SLOs");
  expect(labelOf("/allocations/1")).toBe("Allocation");
  expect(labelOf("/nowhere")).toBeUndefined();
});

it("switches to the same place of another system, from elsewhere to its map", async () => {
  serve(answers);
  const at = `/systems/${SYSTEM}/studies`;
  const { user, router } = renderPage(<Nav />, "*", at);
  const nav = within(screen.getByRole("navigation", { name: "Main" }));
  expect(await nav.findByRole("link", { name: "What-if" })).toHaveAttribute("aria-current", "page");
  const choose = async (name: RegExp) => {
    await user.click(nav.getByRole("button", { name: /^System:/ }));
    await user.click(await screen.findByRole("menuitem", { name }));
  };
  await choose(/^Second/);
  expect(router.state.location.pathname).toBe(`/systems/${OTHER}/studies`);
  await router.navigate("/plans");
  await choose(/^Base workload/);
  expect(router.state.location.pathname).toBe(`/systems/${SYSTEM}/topology`);
});
