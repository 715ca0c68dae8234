import { fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useLocation } from "react-router";

import { useListAddress, WHO_AND_WHEN, WhoAndWhen, whoAndWhen } from "./list-tools";

import { renderPage } from "@/testing/render";

function List() {
  const address = useListAddress(WHO_AND_WHEN);
  return (
    <>
      <WhoAndWhen address={address} />
      <output>{useLocation().search}</output>
    </>
  );
}

it("keeps person and days in the address", async () => {
  const user = userEvent.setup();
  renderPage(<List />, "/", "/?since=2026-03-01");
  expect(screen.getByLabelText("From this day, UTC")).toHaveValue("2026-03-01");
  await user.type(screen.getByLabelText("Person"), "ines");
  expect(await screen.findByText("?since=2026-03-01&person=ines")).toBeInTheDocument();
  fireEvent.change(screen.getByLabelText("To this day, UTC"), { target: { value: "2026-03-02" } });
  expect(
    await screen.findByText("?since=2026-03-01&person=ines&until=2026-03-02"),
  ).toBeInTheDocument();
});

it("asks for whole days, and for nothing where nothing is set", () => {
  expect(whoAndWhen({ person: "ines", since: "2026-03-01", until: "2026-03-02" })).toEqual({
    person: "ines",
    since: "2026-03-01T00:00:00.000Z",
    until: "2026-03-03T00:00:00.000Z",
  });
  expect(whoAndWhen({ person: "", since: "soon", until: "" })).toEqual({});
});

it("keeps two lists of one page apart", async () => {
  const user = userEvent.setup();
  const Two = () => {
    const [first, second] = [useListAddress([], "", "a-"), useListAddress([], "name", "b-")];
    return (
      <>
        <button type="button" onClick={() => first.set({ search: "fx", ordering: "-cost" })}>
          Narrow the first
        </button>
        <button type="button" onClick={() => first.clear()}>
          Clear the first
        </button>
        <p>{`${first.search} ${first.ordering} ${first.cursor}.`}</p>
        <p>{`${second.search} ${second.ordering} ${second.cursor}.`}</p>
        <output>{useLocation().search}</output>
      </>
    );
  };
  renderPage(<Two />, "/", "/?a-cursor=20&b-cursor=40&b-q=desk");
  await user.click(screen.getByRole("button", { name: "Narrow the first" }));
  expect(await screen.findByText("fx -cost .")).toBeInTheDocument();
  expect(screen.getByText("desk name 40.")).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Clear the first" }));
  expect(await screen.findByText("?b-cursor=40&b-q=desk")).toBeInTheDocument();
});
