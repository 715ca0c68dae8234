/** Asks before an import is cancelled. */
import { useCancelImport, type InterestImport } from "./interest-imports";

import { ConfirmDialog } from "@/components/ui/dialogs";

export function CancelImport({
  row,
  onClose,
}: {
  row: InterestImport | null;
  onClose: () => void;
}) {
  const cancel = useCancelImport();
  return (
    <ConfirmDialog
      title={`Cancel import ${row?.name ?? ""}`}
      command="Cancel import"
      open={row !== null}
      onClose={onClose}
      run={() => (row === null ? Promise.resolve() : cancel.mutateAsync(row.id))}
    >
      <p>What it has written so far is taken back; the model stays as it is.</p>
    </ConfirmDialog>
  );
}
