/** What saving does, before it is done. */
import { pointsIn } from "./points";
import type { UsingClass } from "./situation";

import { ConfirmDialog } from "@/components/ui/dialogs";
import type { UtilityDraft } from "@/features/catalog/spec";
import { countText } from "@/lib/numbers";
import { labelOf } from "@/lib/parameters";

/** "log, weight 100"; "piecewise, 5 points". */
export function described(draft: UtilityDraft): string {
  const line = pointsIn(draft.parameters);
  const words = line
    ? [countText(line.points.length, "point")]
    : Object.entries(draft.parameters).map(
        ([key, value]) =>
          `${labelOf(key).toLowerCase()} ${typeof value === "string" ? value : value ? "yes" : "no"}`,
      );
  return [draft.kind, ...words].join(", ");
}

export function SaveDialog({
  name,
  stored,
  draft,
  classes,
  modelVersion,
  open,
  onClose,
  save,
}: {
  name: string;
  stored: UtilityDraft;
  draft: UtilityDraft;
  classes: readonly UsingClass[];
  modelVersion: number;
  open: boolean;
  onClose: () => void;
  save: (reason: string) => Promise<void>;
}) {
  const consumers = classes.reduce((sum, row) => sum + row.population_max, 0);
  return (
    <ConfirmDialog
      title={`Save utility ${name}`}
      command={`Save as model v${modelVersion + 1}`}
      dangerous={false}
      open={open}
      onClose={onClose}
      askReason
      run={save}
    >
      <table className="tbl" aria-label="What saving changes" style={{ marginBottom: 10 }}>
        <tbody>
          <tr>
            <th scope="row">Before</th>
            <td className="wrap">{described(stored)}</td>
          </tr>
          <tr>
            <th scope="row">After</th>
            <td className="wrap">
              <b>{described(draft)}</b>
            </td>
          </tr>
        </tbody>
      </table>
      <p>
        {classes.length === 0
          ? "No class uses it yet. "
          : `${countText(classes.length, "class", "classes")} with ${countText(consumers, "consumer")} ${classes.length === 1 ? "uses" : "use"} it. `}
        The model becomes v{modelVersion + 1}. Allocations and what is in force stay as they are
        until somebody optimizes and makes a plan of it.
      </p>
    </ConfirmDialog>
  );
}
