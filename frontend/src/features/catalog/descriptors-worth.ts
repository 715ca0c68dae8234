/** What consumers are worth, what is promised, and what carries it. */
import { changed, choice, count, nameColumn, reference, seconds, size, words } from "./cells";
import { atBroker, description, name, options, pinned, topic } from "./descriptor-fields";
import { InterestsPanel } from "./interests/interests-panel";
import type { Descriptor } from "./spec";

const QUANTITIES = {
  delay_p50_s: "Median delay, s",
  delay_p99_s: "p99 delay, s",
  delay_mean_s: "Mean delay, s",
  loss_ratio: "Lost messages, ratio",
  rate_per_s: "Delivered rate, msg/s, at least",
};

export const WORTH = {
  "utility-functions": {
    fields: [name, { kind: "utility", name: "utility", label: "Kind", wide: true }],
    columns: [
      nameColumn("utility-functions"),
      words("kind", "Kind", { orderBy: "kind" }),
      {
        key: "parameters",
        title: "Parameters",
        cell: (row) =>
          Object.entries((row.parameters ?? {}) as Record<string, unknown>)
            .map(([key, value]) =>
              Array.isArray(value)
                ? `${value.length} ${key}`
                : `${key.replaceAll("_", " ")} ${String(value)}`,
            )
            .join(", "),
      },
      count("class_count", "Classes"),
      changed,
    ],
    related: [{ kind: "consumer-classes", by: "utility", title: "Used by" }],
  },
  slos: {
    fields: [
      name,
      topic,
      {
        kind: "choice",
        name: "quantity",
        label: "Quantity",
        options: options(QUANTITIES),
        initial: "delay_p99_s",
      },
      { kind: "number", name: "target", label: "Target", hint: "In the unit of the quantity." },
      {
        kind: "number",
        name: "objective",
        label: "Objective",
        hint: "Share of the window in which the target must hold, 0 to 1.",
        initial: "0.99",
      },
      {
        kind: "number",
        name: "window_s",
        label: "Window",
        unit: "s",
        integer: true,
        initial: "2592000",
      },
    ],
    columns: [
      nameColumn("slos"),
      reference("topic", "Topic", "topics", "topic_name", "topic__name"),
      choice("quantity", "Quantity", QUANTITIES, "quantity"),
      {
        key: "target",
        title: "Target",
        number: true,
        orderBy: "target",
        cell: (row) => String(row.target),
      },
      {
        key: "objective",
        title: "Objective",
        unit: "%",
        number: true,
        cell: (row) => String(Number((Number(row.objective) * 100).toPrecision(8))),
      },
      seconds("window_s", "Window"),
      changed,
    ],
    filters: [{ name: "quantity", label: "Quantity", options: options(QUANTITIES) }],
  },
  streams: {
    fields: [
      name,
      { kind: "number", name: "number", label: "Number", integer: true },
      {
        kind: "ref",
        name: "group",
        label: "Group",
        to: "groups",
        nameField: "group_name",
        required: false,
      },
      {
        kind: "ref",
        name: "pinned_group",
        label: "Pinned to group",
        hint: "Mappings leave it there, or bring it there; empty: any group.",
        to: "groups",
        nameField: "pinned_group_name",
        required: false,
      },
    ],
    columns: [
      nameColumn("streams"),
      count("number", "Number", "number"),
      reference("group", "Group", "groups", "group_name"),
      reference("pinned_group", "Pinned to", "groups", "pinned_group_name"),
      changed,
    ],
    filters: [pinned],
    ordering: "number",
    related: [{ kind: "topics", by: "stream", title: "Topics" }],
  },
  groups: {
    fields: [name, { kind: "number", name: "number", label: "Number", integer: true }],
    columns: [nameColumn("groups"), count("number", "Number", "number"), changed],
    ordering: "number",
    related: [{ kind: "streams", by: "group", title: "Streams" }],
  },
  subscribers: {
    fields: [
      name,
      atBroker,
      description,
      {
        kind: "refs",
        name: "interests",
        label: "Topics of interest",
        inner: "topic",
        innerName: "topic_name",
        to: "topics",
        required: false,
        wide: true,
      },
    ],
    columns: [
      nameColumn("subscribers"),
      reference("broker", "Broker", "brokers", "broker_name"),
      size("interests", "Interests"),
      words("description", "Description", { faint: true }),
      changed,
    ],
    Above: InterestsPanel,
  },
} satisfies Record<string, Descriptor>;
