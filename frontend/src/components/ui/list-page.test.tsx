import { queryOptions } from "@tanstack/react-query";
import { screen, waitFor } from "@testing-library/react";

import { ListPage } from "./list-page";

import type { ListQuery } from "@/api/catalog";
import type { Page } from "@/api/client";
import { renderPage } from "@/testing/render";
import { page, system, SYSTEM } from "@/testing/samples";
import { ok, serve } from "@/testing/server";

type Boat = { id: string; name: string };

let asked: { query: ListQuery; chosen: string }[] = [];
const boats = (query: ListQuery, chosen: string) =>
  queryOptions({
    queryKey: ["boats", query, chosen] as const,
    queryFn: (): Promise<Page<Boat>> => {
      asked.push({ query, chosen });
      return Promise.resolve(page(chosen === "sunk" ? [] : [{ id: "1", name: "Anna" }]));
    },
  });

function Boats({ of }: { of?: string }) {
  return (
    <ListPage
      title="Harbour"
      list="Boats"
      about="Boats carry goods."
      system={of}
      query={boats}
      filters={["system", { name: "sail", label: "Sail", options: [{ value: "j", label: "Jib" }] }]}
      choice={{
        name: "tab",
        label: "Which boats",
        usual: "afloat",
        options: [
          { value: "afloat", label: "Afloat", empty: "No boat is afloat." },
          { value: "sunk", label: "Sunk", empty: "No boat has sunk." },
        ],
      }}
      search="Find boats"
      columns={[{ key: "name", title: "Boat", cell: (row) => row.name }]}
      command={<button type="button">New boat</button>}
      needs="optimize"
      address={(row) => `/boats/${row.id}`}
    />
  );
}

beforeEach(() => {
  asked = [];
});

it("asks for what filters and choice say, and opens a row", async () => {
  serve({ "GET /api/v1/systems": ok(page([system()])) });
  const { user, router } = renderPage(<Boats />, "/", "/");
  await user.selectOptions(await screen.findByLabelText("Sail"), "Jib");
  await user.selectOptions(screen.getByLabelText("System"), await screen.findByText(system().name));
  await waitFor(() =>
    expect(asked.at(-1)).toMatchObject({ query: { sail: "j", system: SYSTEM }, chosen: "afloat" }),
  );
  await user.click(screen.getByRole("button", { name: "Show all" }));
  await user.click(screen.getByRole("button", { name: "Sunk" }));
  expect(await screen.findByText("No boat has sunk.")).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Afloat" }));
  await user.dblClick(await screen.findByText("Anna"));
  await waitFor(() => expect(router.state.location.pathname).toBe("/boats/1"));
});

it("offers what makes the next only where the system allows it", async () => {
  serve({ [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ allowed_commands: ["edit"] })) });
  const { unmount } = renderPage(<Boats of={SYSTEM} />, "/", "/");
  await waitFor(() => expect(asked.at(-1)?.query.system).toBe(SYSTEM));
  expect(screen.queryByRole("button", { name: "New boat" })).toBeNull();
  unmount();
  serve({ [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ allowed_commands: ["optimize"] })) });
  renderPage(<Boats of={SYSTEM} />, "/", "/");
  expect(await screen.findByRole("button", { name: "New boat" })).toBeInTheDocument();
});
