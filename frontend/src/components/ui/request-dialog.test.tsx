import { QueryClient } from "@tanstack/react-query";
import { act, screen } from "@testing-library/react";

import { ActiveRuns, useRequestDialog } from "./request-dialog";

import { hear } from "@/api/live";
import { renderPage } from "@/testing/render";
import { SYSTEM } from "@/testing/samples";

function Asking() {
  const { isOpen, ask } = useRequestDialog("look", ["topic"]);
  return (
    <>
      <output>{isOpen ? "open" : "shut"}</output>
      <button type="button" onClick={() => ask(true)}>
        Ask
      </button>
      <button type="button" onClick={() => ask(false)}>
        Leave
      </button>
    </>
  );
}

describe("a dialog by the address", () => {
  it("opens by its address, and takes with it only what it is about", async () => {
    const { user, router } = renderPage(<Asking />, "/list", "/list?look=1&topic=t&search=x");
    expect(screen.getByRole("status")).toHaveTextContent("open");
    await user.click(screen.getByRole("button", { name: "Leave" }));
    expect(router.state.location.search).toBe("?search=x");
    expect(screen.getByRole("status")).toHaveTextContent("shut");
  });

  it("is about nothing where it is asked for without, and is no step of the history", async () => {
    const { user, router } = renderPage(<Asking />, "/list", "/list?topic=t&cursor=c");
    await user.click(screen.getByRole("button", { name: "Ask" }));
    expect(router.state.location.search).toBe("?cursor=c&look=1");
    expect(router.state.historyAction).toBe("REPLACE");
  });
});

it("shows runs of its kind and system that have not ended, until they have", () => {
  const news = (id: string, change: object = {}) => ({
    ...{ kind: "run", run_kind: "mapping", id, number: Number(id), system: SYSTEM },
    ...{ state: "running", method: "joint", attempt: 1, progress: { iteration: 4 } },
    ...{ cancel_requested: false, failure: "", ...change },
  });
  const queries = new QueryClient();
  const tell = (id: string, change?: object) => act(() => hear(queries, news(id, change)));
  tell("71");
  tell("72", { state: "queued", progress: {} });
  tell("73", { run_kind: "allocation" });
  tell("74", { system: "another" });
  tell("75", { state: "succeeded" });
  const more = ({ progress }: { progress: { iteration?: number } }) =>
    progress.iteration === undefined ? "" : `, iteration ${progress.iteration}`;
  renderPage(<ActiveRuns kind="mapping" system={SYSTEM} more={more} />, "/", "/");
  const said = () => [...document.querySelectorAll(".note")].map((note) => note.textContent);
  expect(said()).toEqual(["R-71 is running, iteration 4.", "R-72 is queued."]);
  expect(screen.getByRole("link", { name: "R-71" })).toHaveAttribute("href", "/runs/71");
  tell("71", { state: "failed", failure: "Out of memory." });
  expect(said()).toEqual(["R-72 is queued."]);
});
