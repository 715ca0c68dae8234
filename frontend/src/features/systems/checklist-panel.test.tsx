import { screen, within } from "@testing-library/react";

import { ChecklistPanel } from "./checklist-panel";
import { SystemForm } from "./system-form";

import { renderPage } from "@/testing/render";
import { ok, serve } from "@/testing/server";

const item = (values: Record<string, unknown>) => ({
  stage: "compute",
  title: "Brokers with capacities",
  done: true,
  detail: "2 brokers.",
  place: "brokers",
  ...values,
});

it("says at each stage what is missing, and leads there", async () => {
  serve({
    "GET /api/v1/systems/s1/checklist": ok({
      results: [
        item({}),
        item({ title: "A way", done: false, detail: "No way to b.", place: "overlays" }),
        item({
          stage: "carry_out",
          title: "A driver",
          done: false,
          detail: "None.",
          place: "system",
        }),
      ],
    }),
  });
  renderPage(<ChecklistPanel system="s1" modelVersion={3} />, "/", "/");
  expect(await screen.findByText("2 things missing")).toBeInTheDocument();
  const compute = within(screen.getByRole("region", { name: "To be computed" }));
  expect(compute.getByText("There")).toBeInTheDocument();
  expect(compute.getByRole("link", { name: "Overlays" })).toHaveAttribute(
    "href",
    "/systems/s1/overlays",
  );
  const carried = within(screen.getByRole("region", { name: "To be carried out" }));
  expect(carried.getByText("Missing")).toBeInTheDocument();
  expect(carried.queryByRole("link")).toBeNull();
});

it("offers products without a driver as model only", () => {
  const texts = { name: "", description: "", external_id: "", reason: "" };
  const draft = { ...texts, product: "kafka", resources: [], labels: [] };
  renderPage(
    <SystemForm draft={draft} onDraft={() => undefined} errors={[]} onSubmit={() => undefined} />,
    "/",
    "/",
  );
  expect(screen.getByText(/Agents cannot steer Kafka yet/)).toBeInTheDocument();
  expect(screen.getByDisplayValue("Kafka (model only)")).toBeInTheDocument();
});
