/** One descriptor per kind: its fields, its table, its filters, what belongs to it. */
import { known } from "./descriptor-fields";
import { TOPOLOGY } from "./descriptors-topology";
import { TRAFFIC } from "./descriptors-traffic";
import { WORTH } from "./descriptors-worth";
import type { Descriptor } from "./spec";

import type { CatalogKind } from "@/api/catalog";
import { KIND_NAMES } from "@/lib/kinds";

export const DESCRIPTORS: Record<CatalogKind, Descriptor> = { ...TOPOLOGY, ...TRAFFIC, ...WORTH };

for (const kind of KIND_NAMES) {
  const own = DESCRIPTORS[kind];
  DESCRIPTORS[kind] = { ...own, fields: [...own.fields, ...known] };
}
