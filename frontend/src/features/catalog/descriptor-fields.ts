/** Fields and words that several kinds share. */
import type { FieldSpec } from "./spec";

export const options = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels).map(([value, label]) => ({ value, label }));

export const name: FieldSpec = {
  kind: "text",
  name: "name",
  label: "Name",
  hint: "Unique within its kind.",
};

export const description: FieldSpec = {
  kind: "area",
  name: "description",
  label: "Description",
  required: false,
  wide: true,
};

export const topic: FieldSpec = {
  kind: "ref",
  name: "topic",
  label: "Topic",
  to: "topics",
  nameField: "topic_name",
};

export const broker: FieldSpec = {
  kind: "ref",
  name: "broker",
  label: "Broker",
  to: "brokers",
  nameField: "broker_name",
};

export const atBroker: FieldSpec = { ...broker, required: false };

/** Of lists whose objects mappings may have to leave where they are. */
export const pinned = {
  name: "pinned",
  label: "Pinned",
  options: options({ true: "pinned", false: "not pinned" }),
};
