import { screen, waitFor, within } from "@testing-library/react";

import { MethodsPanel } from "./methods-panel";

import { renderPage } from "@/testing/render";
import { allocation, run, standing } from "@/testing/samples";
import { ok, serve } from "@/testing/server";

const A = allocation({ method: "certified", utility: 1000, upper_bound: 1001 });
const path = `/api/v1/allocations/${A.id}`;
const certified = standing({ method: "certified", title: "Certified", allocation: A });
const missing = (method: string, title: string) =>
  standing({ method, title, allocation: null, run: null });

const show = (seen = A) =>
  renderPage(<MethodsPanel allocation={seen} />, "/allocations/:id", `/allocations/${A.id}`);

it("starts what is missing and shows it running beside what was found", async () => {
  let standings = [certified, missing("greedy", "Gryphon's greedy"), missing("lrgp", "LRGP")];
  const asked = serve({
    [`GET ${path}/methods`]: () => ok({ upper_bound: 1001, standings }),
    [`POST ${path}/compare`]: () => {
      standings = [
        certified,
        standing({
          method: "greedy",
          title: "Gryphon's greedy",
          allocation: null,
          run: run({ state: "running" }),
        }),
        standing({
          allocation: null,
          run: run({ state: "failed", failure: "The worker died twice." }),
        }),
      ];
      return { status: 202, body: { results: [run(), run({ number: 2042 })] } };
    },
  });
  const { user } = show();
  const table = within(await screen.findByRole("table", { name: "Methods on this snapshot" }));
  expect(table.getAllByText("not computed")).toHaveLength(2);
  expect(screen.getByText(/No allocation of this snapshot can exceed 1,001.0/)).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Compare methods" }));
  expect(await table.findByText("Running")).toBeInTheDocument();
  expect(asked.find((one) => one.method === "POST")?.body).toEqual({ methods: ["greedy", "lrgp"] });
  expect(table.getByTitle("The worker died twice.")).toHaveTextContent("Failed");
  // What failed may be asked for again; what is being computed is left alone.
  await user.click(screen.getByRole("button", { name: "Compare methods" }));
  await waitFor(() =>
    expect(asked.filter((one) => one.method === "POST").at(-1)?.body).toEqual({
      methods: ["lrgp"],
    }),
  );
});

it("holds everyone to the bound, and to the best where nobody proves one", async () => {
  const other = standing({ allocation: allocation({ utility: 990, number: 28 }) });
  serve({ [`GET ${path}/methods`]: ok({ upper_bound: null, standings: [certified, other] }) });
  show();
  const table = within(await screen.findByRole("table", { name: "Methods on this snapshot" }));
  expect(table.getByRole("columnheader", { name: /Behind the best/ })).toBeInTheDocument();
  expect(table.getByRole("row", { name: /LRGP A-28 990.0 1.0 / })).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Compare methods" })).toBeNull();
});

it("offers nothing to whom the server offers nothing", async () => {
  serve({ [`GET ${path}/methods`]: ok({ upper_bound: null, standings: [missing("a", "A")] }) });
  show(allocation({ allowed_commands: [] }));
  expect(await screen.findByText("not computed")).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Compare methods" })).toBeNull();
});
