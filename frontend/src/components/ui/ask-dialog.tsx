/** The dialog that asks for the next answer of some kind, on a page of another feature. */
import { Suspense } from "react";

import type { System } from "@/api/systems";
import { computationOf } from "@/lib/computations";

export function AskDialog({
  kind,
  ...asked
}: {
  kind: string;
  system: System;
  open: boolean;
  onClose: () => void;
}) {
  const Ask = computationOf(kind)?.Ask;
  return Ask ? (
    <Suspense fallback={null}>
      <Ask {...asked} />
    </Suspense>
  ) : null;
}
