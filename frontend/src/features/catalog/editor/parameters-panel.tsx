/** The numbers of a utility function: points to type, or the fields that the kind describes. */
import { PointsPanel } from "./points-panel";
import type { Editor } from "./use-editor";

import { Panel } from "@/components/ui/panel";
import { ParameterFields } from "@/components/ui/parameter-fields";
import type { UtilityKind } from "@/features/catalog/utility-kinds";
import { rateText } from "@/lib/numbers";
import { labelOf } from "@/lib/parameters";

export function ParametersPanel({
  editor,
  kind,
  mayEdit,
}: {
  editor: Editor;
  kind: UtilityKind;
  mayEdit: boolean;
}) {
  const { draft, line } = editor;
  if (line) {
    return (
      <PointsPanel
        points={line.points}
        bends={editor.bends}
        faulty={editor.faulty}
        messages={
          editor.bends.length > 0
            ? []
            : editor.faults.map((fault) => `${place(fault.field)}${fault.message}.`)
        }
        chosen={editor.chosen}
        disabled={!mayEdit}
        onChoose={editor.choose}
        onPoints={(points, mark) =>
          editor.set(
            { kind: draft.kind, parameters: { ...draft.parameters, [line.name]: points } },
            mark,
          )
        }
      />
    );
  }
  const whole = editor.faults.find((fault) => fault.field === "parameters");
  const range = editor.drawn?.derived;
  return (
    <Panel
      title={labelOf(kind.kind)}
      sub={kind.summary.replace(/\.$/, "")}
      className="wraphead"
      footer={
        range
          ? `Rates between ${rateText(range.rate_min_per_s)} and ${rateText(range.rate_max_per_s)} msg/s are worth choosing from.`
          : undefined
      }
    >
      <div className="form">
        <ParameterFields
          parameters={kind.parameters}
          draft={draft.parameters}
          onChange={(parameters) =>
            editor.set({ kind: draft.kind, parameters }, changedKey(draft.parameters, parameters))
          }
          errors={editor.faults}
          disabled={!mayEdit}
        />
      </div>
      {whole ? <p className="note bad">{whole.message}</p> : null}
    </Panel>
  );
}

const place = (field: string) => {
  const found = /points\[(\d+)\]/.exec(field);
  return found ? `Point ${found[1]}: ` : "";
};

/** Typing on in one field is one step of undo. */
function changedKey(before: object, after: object): string | null {
  const old = before as Record<string, unknown>;
  const changed = Object.entries(after).filter(([key, value]) => value !== old[key]);
  return changed.length === 1 ? `type ${changed[0]?.[0]}` : null;
}
