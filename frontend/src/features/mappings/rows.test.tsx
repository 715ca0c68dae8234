import { screen, waitFor, within } from "@testing-library/react";
import { useState } from "react";
import { vi } from "vitest";

import { MovesPanel } from "./moves-panel";
import { orderFor, ReceiversPanel } from "./receivers-panel";

import type { MappingDetail } from "@/api/mappings";
import { flowMove, mappingDetail, receiver, receiverDetail } from "@/testing/mapping-samples";
import { renderPage } from "@/testing/render";
import { page, SYSTEM } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const M7 = mappingDetail();
const RECEIVERS = `GET /api/v1/mappings/${M7.id}/receivers`;
const ONE = `GET /api/v1/mappings/${M7.id}/receivers/one`;
const MOVES = `GET /api/v1/mappings/${M7.id}/moves`;

/** Both panels beside each other, and a button that chooses another map. */
function Both({ mapping }: { mapping: MappingDetail }) {
  const [map, setMap] = useState("");
  return (
    <>
      <button type="button" onClick={() => setMap("2")}>
        Other map
      </button>
      <ReceiversPanel mapping={mapping} map={map} />
      <MovesPanel mapping={mapping} map={map} />
    </>
  );
}
const show = (mapping: MappingDetail = M7, query = "") =>
  renderPage(
    <Both mapping={mapping} />,
    "/systems/:systemId/mappings/:id",
    `/systems/${SYSTEM}/mappings/${M7.id}${query}`,
  );
const next = (path: string, cursor: string) => `https://weir/api/v1/${path}?cursor=${cursor}`;
const answers = {
  [RECEIVERS]: ok({
    ...page([receiver(), receiver({ user: "desk-015", cost: 0, unwanted_per_s: 0 })], 500),
    next: next("receivers", "20"),
  }),
  [ONE]: ok(receiverDetail()),
  [MOVES]: ok(page([flowMove()], 1)),
};
const lastTo = (asked: ReturnType<typeof serve>, path: string) =>
  asked.filter((one) => `GET ${one.path}` === path).at(-1)?.query;

describe("receivers", () => {
  it("stand with what they get and filter, the dearest first", async () => {
    const asked = serve(answers);
    show();
    const table = within(await screen.findByRole("table", { name: "Users" }));
    expect(
      table.getByRole("row", { name: /desk-014 70 1,240 310 480 430 22 6/ }),
    ).toBeInTheDocument();
    expect(screen.getByText("500 users")).toBeInTheDocument();
    expect(lastTo(asked, RECEIVERS)?.get("ordering")).toBe("-cost");
    expect(lastTo(asked, RECEIVERS)?.get("map")).toBeNull();
  });

  it("open what reaches them unwanted, at which layer and with what", async () => {
    const asked = serve(answers);
    const { user } = show();
    await user.click(await screen.findByRole("button", { name: "What desk-014 filters" }));
    const table = within(await screen.findByRole("table", { name: "What desk-014 filters" }));
    expect(table.getByRole("row", { name: /fx.gbpusd/ })).toHaveTextContent(
      "by message, at messaging",
    );
    expect(table.getByText("arrives with fx.eurusd in stream 14")).toBeInTheDocument();
    expect(table.getByText("its stream 31 arrives with fx.eurusd in group 3")).toBeInTheDocument();
    expect(screen.getByText(/41 flows reach desk-014 unwanted; the 2 dearest/)).toBeInTheDocument();
    expect(lastTo(asked, ONE)?.get("user")).toBe("desk-014");
    await user.click(screen.getByRole("button", { name: "What desk-014 filters" }));
    expect(screen.queryByRole("table", { name: "What desk-014 filters" })).toBeNull();
  });

  it("say where nothing unwanted arrives, and where that cannot be read", async () => {
    serve({
      ...answers,
      [ONE]: ({ query }) =>
        query.get("user") === "desk-015"
          ? ok(receiverDetail({ user: "desk-015", unwanted_flows: 0, dearest: [] }))
          : problem(400, "invalid", "No subscriber is called desk-014."),
    });
    const { user } = show();
    await user.click(await screen.findByRole("button", { name: "What desk-015 filters" }));
    expect(
      await screen.findByText("Nothing reaches desk-015 that it does not want."),
    ).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "What desk-014 filters" }));
    expect(await screen.findByText(/No subscriber is called desk-014/)).toBeInTheDocument();
  });

  it("are ordered as the server can, whatever head is pressed", async () => {
    const asked = serve(answers);
    const { user } = show();
    await user.click(await screen.findByRole("button", { name: /^Unwanted/ }));
    await waitFor(() => expect(lastTo(asked, RECEIVERS)?.get("ordering")).toBe("-unwanted_per_s"));
    await user.click(screen.getByRole("button", { name: /^User/ }));
    await waitFor(() => expect(lastTo(asked, RECEIVERS)?.get("ordering")).toBe("user"));
    await user.click(screen.getByRole("button", { name: /^User/ }));
    await user.click(screen.getByRole("button", { name: /^Cost/ }));
    await waitFor(() => expect(lastTo(asked, RECEIVERS)?.get("ordering")).toBe("cost"));
    expect(orderFor("streams")).toBe("-cost");
  });
});

describe("rows of a map", () => {
  it("keep search and page of each list apart, and begin again with another map", async () => {
    const asked = serve(answers);
    const { user, router } = show(M7, "?m-q=fx");
    await screen.findByRole("table", { name: "Users" });
    expect(lastTo(asked, MOVES)?.get("search")).toBe("fx");
    expect(lastTo(asked, RECEIVERS)?.get("search")).toBeNull();
    const [onward] = screen.getAllByRole("button", { name: "Next page" });
    if (onward) await user.click(onward);
    await waitFor(() => expect(lastTo(asked, RECEIVERS)?.get("cursor")).toBe("20"));
    expect(router.state.location.search).toBe("?m-q=fx&r-cursor=20");
    expect(lastTo(asked, MOVES)?.get("cursor")).toBeNull();
    await user.click(screen.getByRole("button", { name: "Other map" }));
    await waitFor(() => expect(lastTo(asked, RECEIVERS)?.get("map")).toBe("2"));
    expect(lastTo(asked, RECEIVERS)?.get("cursor")).toBeNull();
    expect(lastTo(asked, MOVES)?.get("search")).toBe("fx");
  });
});

describe("flows that move", () => {
  it("say from where to where, also where there is no stream on one side", async () => {
    serve({
      ...answers,
      [MOVES]: ok(
        page([
          flowMove(),
          flowMove({ flow: "new", from_stream: null, from_group: null }),
          flowMove({ flow: "old", to_stream: null, to_group: null, users: 0 }),
          flowMove({ flow: "loose", from_group: null }),
        ]),
      ),
    });
    show();
    const table = within(await screen.findByRole("table", { name: "Flows that move" }));
    expect(table.getByRole("row", { name: /fx.usdjpy/ })).toHaveTextContent(
      "fx.usdjpy84.0031stream 7 in group 3\u2192 stream 14 in group 3",
    );
    expect(table.getByRole("row", { name: /new/ })).toHaveTextContent("no stream\u2192 stream 14");
    expect(table.getByRole("row", { name: /old/ })).toHaveTextContent("no stream, nobody wants it");
    expect(table.getByRole("row", { name: /loose/ })).toHaveTextContent("stream 7 in no group");
  });

  it("leave as a file with all pages, whatever is searched for", async () => {
    const asked = serve({
      ...answers,
      [MOVES]: ({ query }) =>
        query.get("page_size") !== "500" || query.get("cursor") === "500"
          ? ok(page([flowMove({ flow: "=last", from_stream: null, from_group: null })], 501))
          : ok({ ...page([flowMove()], 501), next: next("moves", "500") }),
    });
    // A browser keeps files; here they are caught on their way out.
    const files: Blob[] = [];
    const names: string[] = [];
    URL.createObjectURL = (file: Blob) => `blob:${files.push(file)}`;
    URL.revokeObjectURL = () => undefined;
    const click = vi.spyOn(HTMLAnchorElement.prototype, "click");
    click.mockImplementation(function (this: HTMLAnchorElement) {
      names.push(this.download);
    });
    const { user } = show(M7, "?m-q=fx");
    await user.click(await screen.findByRole("button", { name: "CSV" }));
    await waitFor(() => expect(names).toEqual(["moves-M-7.csv"]));
    expect(await files[0]?.text()).toBe(
      [
        "flow,rate_per_s,users,from_stream,from_group,to_stream,to_group",
        "fx.usdjpy,84,31,7,3,14,3",
        "'=last,84,31,,,14,3",
        "",
      ].join("\r\n"),
    );
    click.mockRestore();
    expect(lastTo(asked, MOVES)?.get("search")).toBeNull();
  });

  it("are counted by kind only once they are those of the chosen map", async () => {
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    serve({
      ...answers,
      [MOVES]: async ({ query }) => {
        if (query.get("map") === null) return ok(page([flowMove()], 1_870));
        await answered;
        return ok(page([flowMove()], 5_500));
      },
    });
    const { user } = show();
    const words = "1,870 flows, busiest first: 1,840 to another stream, 30 with their stream to";
    expect(await screen.findByText(new RegExp(words))).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Other map" }));
    // Rows of the proposed map stay; their count, taken for the other's, would be wrong.
    expect(await screen.findByRole("table", { name: "Flows that move" })).toBeInTheDocument();
    expect(screen.queryByText(/busiest first/)).toBeNull();
    answer();
    expect(
      await screen.findByText(/^5,500 flows, busiest first: 5,400 to another stream, 100 with/),
    ).toBeInTheDocument();
  });

  it("are none where everything stays, and where there was nothing to keep", async () => {
    serve({ ...answers, [MOVES]: ok(page([])) });
    const { unmount } = show();
    expect(await screen.findByText(/every flow stays in its stream/)).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "CSV" })).toBeNull();
    unmount();
    show(mappingDetail({ former_cost: null }));
    expect(await screen.findByText(/every flow gets its first stream/)).toBeInTheDocument();
  });

  it("say that nothing matches, which is not that nothing moves", async () => {
    serve({ ...answers, [MOVES]: ok(page([])) });
    show(M7, "?m-q=xyz");
    expect(
      await screen.findByText("No flow that moves has what is searched for in its name."),
    ).toBeInTheDocument();
  });
});
