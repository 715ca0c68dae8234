import { screen, waitFor, within } from "@testing-library/react";
import { useState } from "react";
import { vi } from "vitest";

import { DataTable } from "./data-table";
import { ConfirmDialog } from "./dialogs";
import { NumberField } from "./fields";
import { ParameterFields } from "./parameter-fields";
import { QueryBody } from "./panel";

import { parameterDraft, type Parameter, type ParameterDraft } from "@/lib/parameters";
import { ProblemError, problemFrom } from "@/lib/problem";
import { renderUi } from "@/testing/render";

const rows = [
  { id: "a", name: "alpha" },
  { id: "b", name: "beta" },
];

describe("the data table", () => {
  it("sorts by its heads and says which way", async () => {
    const onOrder = vi.fn();
    const { user } = renderUi(
      <DataTable
        label="Things"
        rows={rows}
        rowKey={(row) => row.id}
        columns={[{ key: "name", title: "Name", orderBy: "name", cell: (row) => row.name }]}
        ordering="name"
        onOrder={onOrder}
      />,
    );
    expect(screen.getByRole("columnheader")).toHaveAttribute("aria-sort", "ascending");
    await user.click(screen.getByRole("button", { name: "Name" }));
    expect(onOrder).toHaveBeenCalledWith("-name");
  });

  it("moves by J and K and opens with Enter", async () => {
    const onOpen = vi.fn();
    const { user } = renderUi(
      <DataTable
        label="Things"
        rows={rows}
        rowKey={(row) => row.id}
        columns={[{ key: "name", title: "Name", cell: (row) => row.name }]}
        onOpen={onOpen}
        keys
      />,
    );
    await user.keyboard("jj{Enter}");
    expect(onOpen).toHaveBeenLastCalledWith(rows[1]);
    await user.keyboard("k{Enter}");
    expect(onOpen).toHaveBeenLastCalledWith(rows[0]);
  });
});

describe("a panel's states", () => {
  it("shows what failed, with its code, and tries again", async () => {
    const refetch = vi.fn();
    const error = new ProblemError(
      problemFrom(503, { code: "database_away", detail: "The database does not answer." }),
    );
    const { user } = renderUi(
      <QueryBody query={{ data: undefined, error, isPending: false, refetch }} what="Topics">
        {() => null}
      </QueryBody>,
    );
    expect(screen.getByRole("alert")).toHaveTextContent("Topics could not be loaded.");
    expect(screen.getByText("database_away")).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Try again" }));
    expect(refetch).toHaveBeenCalled();
  });

  it("keeps old data on the page when a later request fails", () => {
    renderUi(
      <QueryBody
        query={{ data: "kept", error: new Error("x"), isPending: false, refetch: vi.fn() }}
        what="Topics"
      >
        {(data) => <p>{data}</p>}
      </QueryBody>,
    );
    expect(screen.getByText("kept")).toBeInTheDocument();
  });
});

describe("forms", () => {
  it("ties the message of the server to its field", () => {
    renderUi(
      <NumberField
        label="Lowest rate"
        unit="msg/s"
        value="50"
        onChange={vi.fn()}
        error="Too high."
      />,
    );
    const field = screen.getByLabelText("Lowest rate");
    expect(field).toHaveAttribute("aria-invalid", "true");
    expect(field).toHaveAccessibleDescription("Too high.");
  });

  it("draws parameters from their description and marks a line that bends up", async () => {
    const described: Parameter[] = [
      {
        name: "weight",
        type: "number",
        unit: "utility",
        minimum: 0,
        maximum: null,
        exclusive: false,
        help: "Worth",
        required: true,
        default: null,
      },
      {
        name: "points",
        type: "points",
        unit: null,
        minimum: null,
        maximum: null,
        exclusive: false,
        help: "",
        required: true,
        default: null,
      },
    ];
    function Holder() {
      const [draft, setDraft] = useState<ParameterDraft>(() => parameterDraft(described));
      return (
        <ParameterFields parameters={described} draft={draft} onChange={setDraft} errors={[]} />
      );
    }
    const { user } = renderUi(<Holder />);
    expect(screen.getByLabelText("Weight")).toHaveAccessibleDescription("Worth. At least 0.");
    await user.clear(screen.getByLabelText("Utility of point 2"));
    await user.type(screen.getByLabelText("Utility of point 2"), "5000");
    expect(screen.getByText(/Point 1 bends upwards/)).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Add point" }));
    expect(screen.getByLabelText("Rate of point 3")).toHaveValue("200");
  });

  it("asks before it does, passes the reason on, and shows why it failed", async () => {
    const run = vi
      .fn<(reason: string) => Promise<void>>()
      .mockRejectedValueOnce(
        new ProblemError(problemFrom(409, { code: "in_use", detail: "Classes refer to it." })),
      )
      .mockResolvedValueOnce(undefined);
    const onClose = vi.fn();
    const { user } = renderUi(
      <ConfirmDialog
        title="Delete topic"
        command="Delete"
        open
        onClose={onClose}
        askReason
        run={run}
      >
        <p>It leaves the model.</p>
      </ConfirmDialog>,
    );
    const dialog = within(await screen.findByRole("dialog", { name: "Delete topic" }));
    await user.type(dialog.getByLabelText(/Reason/), "not used");
    await user.click(dialog.getByRole("button", { name: "Delete" }));
    expect(await dialog.findByRole("alert")).toHaveTextContent("Classes refer to it.");
    await user.click(dialog.getByRole("button", { name: "Delete" }));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(run).toHaveBeenLastCalledWith("not used");
  });
});
