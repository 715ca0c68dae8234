/** Brokers, links and overlays. */
import {
  byResource,
  changed,
  choice,
  count,
  nameColumn,
  reference,
  seconds,
  size,
  words,
} from "./cells";
import { name, options } from "./descriptor-fields";
import type { Descriptor } from "./spec";

const PURPOSES = { overlay: "Overlay", goal: "Goal topology" };

export const TOPOLOGY = {
  brokers: {
    fields: [
      name,
      { kind: "text", name: "region", label: "Region", required: false },
      {
        kind: "resources",
        name: "capacities",
        label: "Capacity",
        valueName: "capacity",
        unit: "unit/s",
        wide: true,
      },
      {
        kind: "number",
        name: "publish_rate_max_per_s",
        label: "Takes of publishers",
        unit: "msg/s",
        hint: "All publishers together; placements use only brokers that have it.",
        required: false,
      },
      {
        kind: "number",
        name: "map_x",
        label: "Place on the map, across",
        hint: "0 is left, 1 is right.",
        required: false,
      },
      {
        kind: "number",
        name: "map_y",
        label: "Place on the map, down",
        hint: "0 is top, 1 is bottom.",
        required: false,
      },
    ],
    columns: [
      nameColumn("brokers"),
      words("region", "Region", { orderBy: "region" }),
      byResource("capacities", "Capacity per second", "capacity"),
      changed,
    ],
    related: [{ kind: "consumer-classes", by: "broker", title: "Consumer classes here" }],
  },
  links: {
    fields: [
      name,
      {
        kind: "number",
        name: "capacity",
        label: "Capacity",
        unit: "unit/s",
        hint: "A flow costs its link cost times its rate.",
      },
      {
        kind: "ref",
        name: "source",
        label: "From broker",
        to: "brokers",
        nameField: "source_name",
      },
      { kind: "ref", name: "target", label: "To broker", to: "brokers", nameField: "target_name" },
      { kind: "number", name: "latency_s", label: "Latency", unit: "s", required: false },
    ],
    columns: [
      nameColumn("links"),
      reference("source", "From", "brokers", "source_name"),
      reference("target", "To", "brokers", "target_name"),
      count("capacity", "Capacity", "capacity", "unit/s"),
      seconds("latency_s", "Latency", "latency_s"),
      changed,
    ],
  },
  overlays: {
    fields: [
      name,
      {
        kind: "choice",
        name: "purpose",
        label: "Purpose",
        options: options(PURPOSES),
        initial: "overlay",
      },
      {
        kind: "check",
        name: "in_force",
        label: "In force",
        hint: "One overlay of a system is in force; a goal topology never is.",
      },
      { kind: "area", name: "note", label: "Note", required: false, wide: true },
      {
        kind: "rows",
        name: "edges",
        label: "Edges",
        hint: "Together they must form a tree.",
        add: "Add edge",
        wide: true,
        columns: [
          { kind: "ref", name: "a", label: "Broker", to: "brokers", nameField: "a_name" },
          { kind: "ref", name: "b", label: "Broker", to: "brokers", nameField: "b_name" },
        ],
      },
    ],
    columns: [
      nameColumn("overlays"),
      choice("purpose", "Purpose", PURPOSES, "purpose"),
      {
        key: "in_force",
        title: "In force",
        cell: (row) => (row.in_force === true ? "yes" : "no"),
      },
      size("edges", "Edges"),
      words("note", "Note", { faint: true }),
      changed,
    ],
    filters: [{ name: "purpose", label: "Purpose", options: options(PURPOSES) }],
  },
} satisfies Record<string, Descriptor>;
