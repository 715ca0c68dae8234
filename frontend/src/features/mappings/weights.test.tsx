import { screen, waitFor, within } from "@testing-library/react";

import {
  changesBetween,
  chargeText,
  filterText,
  readWeights,
  spanText,
  valuesOf,
  weightDraft,
  WEIGHTS,
} from "./weights";
import { WeightsDialog } from "./weights-dialog";

import { mappingSettings } from "@/testing/mapping-samples";
import { renderPage } from "@/testing/render";
import { page, SYSTEM } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const ROW = mappingSettings();
const PATCH = `PATCH /api/v1/mapping-settings/${ROW.id}`;

describe("weights as words", () => {
  it("write spans in the largest unit that is whole", () => {
    const spans = [1, 59, 60, 90, 120, 3_600, 3_660, 5_400, 7_200, 86_400, 172_800, 0.5];
    expect(spans.map(spanText)).toEqual([
      ...["1 s", "59 s", "60 s", "90 s", "2 min", "60 min", "61 min", "90 min", "2 h"],
      ...["24 h", "2 d", "0.5 s"],
    ]);
  });

  it("divide the work of a move by the horizon", () => {
    expect(chargeText({ flow_move_work: 1_000, stream_move_work: 10_000, horizon_s: 3_600 })).toBe(
      "A moved flow is charged 0.28 work/s: 1,000 work over 60 min. A moved stream 2.8 work/s: 10,000 work over 60 min.",
    );
    expect(chargeText({ flow_move_work: 0, stream_move_work: 120, horizon_s: 60 })).toBe(
      "A moved flow is charged 0 work/s: 0 work over 60 s. A moved stream 2 work/s: 120 work over 60 s.",
    );
  });

  it("spread the work of a packet over its messages", () => {
    expect(filterText({ transport: 2, messaging: 1, aggregation: 8 })).toBe(
      "An unwanted message costs 1 work where its stream is taken, and 0.25 work where the stream is dropped whole.",
    );
  });

  it("come back from a draft as they went in, to the last digit", () => {
    const row = mappingSettings({ transport: 0.1 + 0.2, horizon_s: 86_399.5, aggregation: 1 });
    const { values, errors } = readWeights(weightDraft(row));
    expect(errors).toEqual([]);
    expect(values).toEqual(valuesOf(row));
    expect(changesBetween(valuesOf(row), values)).toEqual([]);
  });

  it("are refused each at its field", () => {
    const draft = {
      ...weightDraft(ROW),
      ...{ transport: "-1", messaging: "", aggregation: "0.5", horizon_s: "0" },
      ...{ flow_move_work: "many", stream_move_work: "1e31", flows_per_s: "0" },
    };
    const { errors, values } = readWeights(draft);
    expect(errors.map(({ field }) => field)).toEqual(WEIGHTS.map(({ name }) => name));
    expect(values).toEqual({});
    expect(errors[2]?.message).toBe("Give at least 1 msg/packet.");
  });
});

describe("the form", () => {
  const open = () => {
    const closed: string[] = [];
    const view = renderPage(
      <WeightsDialog system={SYSTEM} open onClose={() => closed.push("closed")} />,
      "/",
      "/",
    );
    return { closed, ...view };
  };
  const field = (name: string) => screen.findByRole("textbox", { name });

  it("says what will change, and sends only that with a reason", async () => {
    const asked = serve({
      "GET /api/v1/mapping-settings": ok(page([ROW])),
      [PATCH]: ok(mappingSettings({ transport: 3, version: 4 })),
    });
    const { user, closed } = open();
    const transport = await field("Receiving a packet");
    expect(screen.getByRole("button", { name: "Save" })).toBeDisabled();
    await user.clear(transport);
    await user.type(transport, "3");
    const change = within(screen.getByRole("status", { name: "What will change" }));
    expect(change.getByText("Receiving a packet: 2 to 3 work/packet")).toBeInTheDocument();
    expect(screen.getByText(/0.38 work where the stream is dropped/)).toBeInTheDocument();
    await user.type(screen.getByRole("textbox", { name: /Reason/ }), "Measured");
    await user.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(closed).toEqual(["closed"]));
    const sent = asked.find(({ method }) => method === "PATCH");
    expect(sent?.body).toEqual({ transport: 3, reason: "Measured" });
    expect(sent?.headers.get("If-Match")).toBe('"3"');
  });

  it("shows faults at their fields, its own and those of the server", async () => {
    const asked = serve({
      "GET /api/v1/mapping-settings": ok(page([ROW])),
      [PATCH]: problem(400, "invalid", "Refused.", [
        { field: "horizon_s", message: "Longer than the system keeps maps." },
      ]),
    });
    const { user } = open();
    const horizon = await field("Horizon");
    await user.clear(horizon);
    await user.type(horizon, "soon");
    await user.click(screen.getByRole("button", { name: "Save" }));
    expect(screen.getByText('"soon" is not a number.')).toBeInTheDocument();
    expect(horizon).toBeInvalid();
    expect(asked.some(({ method }) => method === "PATCH")).toBe(false);
    await user.clear(horizon);
    await user.type(horizon, "60");
    await user.click(screen.getByRole("button", { name: "Save" }));
    expect(await screen.findByText("Longer than the system keeps maps.")).toBeInTheDocument();
    expect(horizon).toHaveValue("60");
  });

  const conflict = async () => {
    let stored = ROW;
    const asked = serve({
      "GET /api/v1/mapping-settings": () => ok(page([stored])),
      [PATCH]: ({ headers, body }) => {
        if (headers.get("If-Match") !== `"${stored.version}"`) {
          return problem(412, "stale", "Somebody else changed it.");
        }
        stored = { ...stored, ...(body as object), version: stored.version + 1 };
        return ok(stored);
      },
    });
    const view = open();
    const transport = await field("Receiving a packet");
    await view.user.clear(transport);
    await view.user.type(transport, "3");
    stored = mappingSettings({ messaging: 5, version: 7 });
    await view.user.click(screen.getByRole("button", { name: "Save" }));
    const note = await screen.findByText(/Changed by someone else/);
    expect(note.parentElement).toHaveTextContent("receiving a message 1 to 5 work/msg");
    expect(screen.getByRole("button", { name: "Save" })).toBeDisabled();
    return { ...view, asked, transport };
  };

  it("lays its changes beside what somebody else has stored meanwhile", async () => {
    const { user, asked, closed } = await conflict();
    await user.click(screen.getByRole("button", { name: "keep mine beside theirs" }));
    expect(await field("Receiving a message")).toHaveValue("5");
    expect(await field("Receiving a packet")).toHaveValue("3");
    await user.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(closed).toEqual(["closed"]));
    const sent = asked.filter(({ method }) => method === "PATCH").at(-1);
    expect(sent?.body).toEqual({ transport: 3 });
    expect(sent?.headers.get("If-Match")).toBe('"7"');
  });

  it("keeps beside theirs what is no number yet", async () => {
    let stored = ROW;
    serve({
      "GET /api/v1/mapping-settings": () => ok(page([stored])),
      [PATCH]: problem(412, "stale", "Somebody else changed it."),
    });
    const { user, queries } = open();
    const horizon = await field("Horizon");
    await user.clear(horizon);
    await user.type(horizon, "1e");
    await user.clear(await field("Pace"));
    stored = mappingSettings({ messaging: 5, horizon_s: 60, version: 7 });
    await queries.invalidateQueries();
    await user.click(await screen.findByRole("button", { name: "keep mine beside theirs" }));
    expect(await field("Horizon")).toHaveValue("1e");
    expect(await field("Pace")).toHaveValue("");
    expect(await field("Receiving a message")).toHaveValue("5");
  });

  it("takes theirs instead", async () => {
    const { user } = await conflict();
    await user.click(screen.getByRole("button", { name: "Take theirs" }));
    expect(await field("Receiving a packet")).toHaveValue("2");
    expect(await field("Receiving a message")).toHaveValue("5");
    expect(screen.queryByText(/Changed by someone else/)).toBeNull();
  });

  it("is read by who may not edit, and changed by nobody then", async () => {
    serve({
      "GET /api/v1/mapping-settings": ok(page([mappingSettings({ allowed_commands: [] })])),
    });
    open();
    expect(await field("Horizon")).toBeDisabled();
    expect(screen.getByText("Editors change the weights.")).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Save" })).toBeNull();
  });
});
