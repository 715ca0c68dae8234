import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useLocation } from "react-router";

import { ListPanel, tookSeconds } from "./list-panel";
import { useListAddress } from "./list-tools";

import { renderPage } from "@/testing/render";

type Row = { id: string; name: string };

function List({ rows }: { rows: Row[] }) {
  const address = useListAddress(["tab", "kind"]);
  return (
    <>
      <ListPanel<Row>
        title="Boats"
        query={{
          data: { count: rows.length, next: null, previous: null, results: rows },
          error: null,
          isPending: false,
          isPlaceholderData: false,
          refetch: () => undefined,
        }}
        address={address}
        kept={["tab"]}
        search="Find boats"
        columns={[{ key: "name", title: "Boat", orderBy: "name", cell: (row) => row.name }]}
        newestFirst
        empty="A boat carries goods. There is none yet."
        command={<button type="button">New boat</button>}
        onOpen={() => undefined}
      />
      <output>{useLocation().search}</output>
    </>
  );
}

const ROWS = [
  { id: "1", name: "Anna" },
  { id: "2", name: "Berta" },
];

it("shows the rows, how many there are, and where they go on", async () => {
  const user = userEvent.setup();
  renderPage(<List rows={ROWS} />, "/", "/");
  const table = screen.getByRole("table", { name: "Boats" });
  expect(within(table).getByText("Berta")).toBeInTheDocument();
  expect(screen.getByText("2, newest first")).toBeInTheDocument();
  expect(screen.getByText("2 of 2 boats")).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Show all" })).not.toBeInTheDocument();
  await user.click(within(table).getByRole("button", { name: "Boat" }));
  expect(await screen.findByText("?order=name")).toBeInTheDocument();
});

it("says what belongs there and how to make the first, without tools for nothing", () => {
  renderPage(<List rows={[]} />, "/", "/?tab=open");
  expect(screen.getByText("A boat carries goods. There is none yet.")).toBeInTheDocument();
  expect(screen.getByRole("button", { name: "New boat" })).toBeInTheDocument();
  expect(screen.queryByLabelText("Find boats")).not.toBeInTheDocument();
});

it("leads back from a search without results and keeps the tab", async () => {
  const user = userEvent.setup();
  renderPage(<List rows={[]} />, "/", "/?tab=open&kind=sail&q=zz&cursor=abc");
  expect(
    screen.getByText("Nothing matches what is searched and filtered for."),
  ).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "New boat" })).not.toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Show all" }));
  expect(await screen.findByText("?tab=open")).toBeInTheDocument();
});

it("knows how long something took only when it has ended", () => {
  const times = { started_at: "2026-03-01T00:00:00Z", finished_at: "2026-03-01T00:01:30Z" };
  expect(tookSeconds(times)).toBe(90);
  expect(tookSeconds({ ...times, finished_at: null })).toBeNull();
});
