/** Fields and words that several kinds share. */
import type { FieldSpec } from "./spec";

import { EXTERNAL_ID_HINT, LABELS_HINT } from "@/lib/labels";

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

/** What other systems know every object by. */
export const known: readonly FieldSpec[] = [
  {
    kind: "text",
    name: "external_id",
    label: "External id",
    hint: EXTERNAL_ID_HINT,
    required: false,
  },
  { kind: "labels", name: "labels", label: "Labels", hint: LABELS_HINT, required: false },
];

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
