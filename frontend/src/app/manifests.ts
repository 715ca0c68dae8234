/** Every feature's manifest, found by its place: a new feature is a new folder. */
import type { Manifest } from "@/lib/manifest";

const found = import.meta.glob<Manifest>("@/features/*/manifest.tsx", {
  eager: true,
  import: "manifest",
});

export const gathered: readonly Manifest[] = Object.values(found);
