/** What Home says of messages that wait. */
import { screen, within } from "@testing-library/react";

import { BacklogAlarm } from "./backlog-alarm";

import type { Overview } from "@/api/allocations";
import { to } from "@/lib/kinds";
import { renderPage } from "@/testing/render";
import { backlog, overview } from "@/testing/samples";

const show = (...systems: Overview[]) => renderPage(<BacklogAlarm systems={systems} />, "/", "/");

it("alarms with the topic that is full first, and links to it", () => {
  const system = overview({
    backlogs: [
      backlog({
        growth: "growing",
        topic: "radar",
        sentence: "radar: 90 messages wait at b1.",
        full_in_s: null,
      }),
      backlog({ topic: "alerts", sentence: "alerts: 1 message waits at b2.", full_in_s: 3000 }),
      backlog(),
    ],
  });
  show(system);
  expect(screen.getByRole("alert")).toHaveTextContent(
    "2 reliable topics are full, or will be within an hour.",
  );
  const rows = within(screen.getByRole("list", { name: "Worst backlogs" })).getAllByRole(
    "listitem",
  );
  expect(rows[0]).toHaveTextContent(
    "customs: 17,049 messages wait at b4, 104 msg/s more arrive than leave; full in 13 minutes (100,000 messages).",
  );
  expect(rows[1]).toHaveTextContent("alerts");
  expect(rows[2]).toHaveTextContent("radar");
  expect(screen.getByRole("link", { name: "customs" })).toHaveAttribute(
    "href",
    to.object(system.id, "topics", backlog().topic_id),
  );
});

it("says that a backlog grows without calling it an alarm", () => {
  show(overview({ backlogs: [backlog({ growth: "growing", full_in_s: null })] }));
  expect(
    screen.getByText("More messages arrive than leave on 1 reliable topic."),
  ).toBeInTheDocument();
  expect(screen.queryByRole("alert")).toBeNull();
});

it("counts what it does not show", () => {
  const backlogs = ["a", "b", "c", "d", "e"].map((topic) =>
    backlog({ topic, sentence: `${topic}: 5 messages wait at b1.` }),
  );
  show(overview({ backlogs }));
  expect(screen.getAllByRole("listitem")).toHaveLength(3);
  expect(screen.getByText("and 2 more topics")).toBeInTheDocument();
});

it("is silent where nothing grows", () => {
  show(overview());
  expect(screen.queryByRole("list")).toBeNull();
});
