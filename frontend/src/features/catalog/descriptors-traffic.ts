/** Topics, those who send them and those who want them. */
import { byResource, changed, choice, count, nameColumn, rate, reference, words } from "./cells";
import { atBroker, broker, description, name, options, topic } from "./descriptor-fields";
import type { Descriptor } from "./spec";

const PATTERNS = {
  one_to_many: "One to many",
  one_to_one: "One to one",
  request_response: "Request-response",
};

const DELIVERIES = { best_effort: "Best effort", reliable: "Reliable" };

export const TRAFFIC = {
  topics: {
    fields: [
      name,
      {
        kind: "ref",
        name: "source",
        label: "Source broker",
        to: "brokers",
        nameField: "source_name",
        required: false,
      },
      {
        kind: "choice",
        name: "pattern",
        label: "Pattern",
        options: options(PATTERNS),
        initial: "one_to_many",
      },
      {
        kind: "choice",
        name: "delivery",
        label: "Delivery",
        options: options(DELIVERIES),
        initial: "best_effort",
      },
      { kind: "number", name: "rate_min_per_s", label: "Lowest rate", unit: "msg/s", initial: "0" },
      { kind: "number", name: "rate_max_per_s", label: "Highest rate", unit: "msg/s" },
      {
        kind: "number",
        name: "token_rate_per_s",
        label: "Token rate",
        unit: "msg/s",
        hint: "With the burst it bounds the topic in every interval.",
        required: false,
      },
      { kind: "number", name: "token_bucket", label: "Burst", unit: "messages", required: false },
      {
        kind: "number",
        name: "recorded_bucket",
        label: "Recorded bucket",
        unit: "messages",
        hint: "Of a recording, by measure_buckets; placements go by it.",
        required: false,
      },
      {
        kind: "number",
        name: "batch",
        label: "Batch",
        unit: "messages",
        integer: true,
        initial: "1",
        hint: "What a publisher sends at a time.",
      },
      {
        kind: "ref",
        name: "stream",
        label: "Stream",
        to: "streams",
        nameField: "stream_name",
        required: false,
      },
      description,
      {
        kind: "rows",
        name: "node_costs",
        label: "Work at brokers",
        hint: "Per message, whoever receives it.",
        add: "Add broker",
        required: false,
        wide: true,
        columns: [
          { kind: "ref", name: "broker", label: "Broker", to: "brokers", nameField: "broker_name" },
          { kind: "resource", name: "resource", label: "Resource" },
          { kind: "number", name: "cost", label: "Cost", unit: "unit/msg" },
        ],
      },
      {
        kind: "rows",
        name: "link_costs",
        label: "Work on links",
        add: "Add link",
        required: false,
        wide: true,
        columns: [
          { kind: "ref", name: "link", label: "Link", to: "links", nameField: "link_name" },
          { kind: "number", name: "cost", label: "Cost", unit: "unit/msg" },
        ],
      },
    ],
    columns: [
      nameColumn("topics"),
      choice("pattern", "Pattern", PATTERNS, "pattern"),
      choice("delivery", "Delivery", DELIVERIES, "delivery"),
      reference("source", "Source", "brokers", "source_name"),
      rate("rate_min_per_s", "Lowest rate", "rate_min_per_s"),
      rate("rate_max_per_s", "Highest rate", "rate_max_per_s"),
      count("class_count", "Classes"),
      changed,
    ],
    filters: [
      { name: "pattern", label: "Pattern", options: options(PATTERNS) },
      { name: "delivery", label: "Delivery", options: options(DELIVERIES) },
    ],
    related: [
      { kind: "consumer-classes", by: "topic", title: "Consumer classes" },
      { kind: "publishers", by: "topic", title: "Publishers" },
      { kind: "slos", by: "topic", title: "SLOs" },
    ],
  },
  "consumer-classes": {
    fields: [
      name,
      {
        kind: "text",
        name: "tier",
        label: "Tier",
        hint: "For people: gold, silver, bronze.",
        required: false,
      },
      topic,
      broker,
      {
        kind: "ref",
        name: "utility",
        label: "Utility function",
        to: "utility-functions",
        nameField: "utility_name",
      },
      {
        kind: "number",
        name: "population_max",
        label: "Wanted",
        unit: "consumers",
        integer: true,
        hint: "Consumers that want to be admitted.",
      },
      {
        kind: "resources",
        name: "costs",
        label: "Cost of one consumer",
        valueName: "cost",
        unit: "unit/msg",
        required: false,
        wide: true,
      },
    ],
    columns: [
      nameColumn("consumer-classes"),
      words("tier", "Tier", { orderBy: "tier" }),
      reference("topic", "Topic", "topics", "topic_name", "topic__name"),
      reference("broker", "Broker", "brokers", "broker_name", "broker__name"),
      reference("utility", "Utility", "utility-functions", "utility_name"),
      count("population_max", "Wanted", "population_max", "consumers"),
      byResource("costs", "Cost per message", "cost"),
      changed,
    ],
  },
  publishers: {
    fields: [
      name,
      topic,
      atBroker,
      {
        kind: "ref",
        name: "correlation_key",
        label: "Correlation key",
        to: "correlation-keys",
        nameField: "correlation_key_name",
        required: false,
      },
      { kind: "number", name: "rate_per_s", label: "Rate", unit: "msg/s", initial: "0" },
      {
        kind: "check",
        name: "pinned",
        label: "Stays at its broker",
        hint: "Placements move every other publisher.",
      },
    ],
    columns: [
      nameColumn("publishers"),
      reference("topic", "Topic", "topics", "topic_name", "topic__name"),
      reference("broker", "Broker", "brokers", "broker_name"),
      reference("correlation_key", "Correlation key", "correlation-keys", "correlation_key_name"),
      rate("rate_per_s", "Rate", "rate_per_s"),
      changed,
    ],
  },
  "correlation-keys": {
    fields: [name, description],
    columns: [
      nameColumn("correlation-keys"),
      words("description", "Description", { faint: true }),
      changed,
    ],
    related: [{ kind: "publishers", by: "correlation_key", title: "Publishers" }],
  },
} satisfies Record<string, Descriptor>;
