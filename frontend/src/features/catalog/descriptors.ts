/** One descriptor per kind: its fields, its table, its filters, what belongs to it. */
import { TOPOLOGY } from "./descriptors-topology";
import { TRAFFIC } from "./descriptors-traffic";
import { WORTH } from "./descriptors-worth";
import type { Descriptor } from "./spec";

import type { CatalogKind } from "@/api/catalog";

export const DESCRIPTORS: Record<CatalogKind, Descriptor> = { ...TOPOLOGY, ...TRAFFIC, ...WORTH };
