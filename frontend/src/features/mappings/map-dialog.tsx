/** Ask for a map of a system's flows. */
import type { System } from "@/api/systems";
import { Dialog } from "@/components/ui/dialogs";

export function MapDialog({
  system,
  open,
  onClose,
}: {
  system: System;
  open: boolean;
  onClose: () => void;
}) {
  return (
    <Dialog title="Map flows" open={open} onClose={onClose} wide>
      <p>{system.name}</p>
    </Dialog>
  );
}
