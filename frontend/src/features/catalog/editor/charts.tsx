/** The editor's charts: utility, marginal utility and, for latency targets, the round trip. */
import { LegendLine } from "./chart-parts";
import { LatencyPanel } from "./latency-panel";
import { MarginalPlot } from "./marginal-plot";
import type { FlowSituation } from "./situation";
import { textOf, type Editor } from "./use-editor";
import { UtilityPlot } from "./utility-plot";

import { ChartPanel } from "@/components/ui/chart-frame";
import { Segments } from "@/components/ui/page";
import { Panel } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { rateText, significant } from "@/lib/numbers";
import { readNumber } from "@/lib/parameters";

function ConcaveBadge({ editor }: { editor: Editor }) {
  const { bends, isSound, faults } = editor;
  if (bends.length > 0) {
    return (
      <Badge tone="bad" icon="alert">
        Not concave at point {bends.join(", ")}
      </Badge>
    );
  }
  if (!isSound && faults.length > 0) {
    return (
      <Badge tone="bad" icon="alert">
        Not yet a function
      </Badge>
    );
  }
  return (
    <Badge tone="good" icon="check">
      Concave
    </Badge>
  );
}

export function Charts({
  name,
  width,
  modelVersion,
  editor,
  allocation,
  flow,
  mayEdit,
}: {
  name: string;
  width: number;
  modelVersion: number;
  editor: Editor;
  /** Its name; null where the system has none. */
  allocation: string | null;
  flow: FlowSituation | null;
  mayEdit: boolean;
}) {
  const storedName = `model v${modelVersion}`;
  const threshold = readNumber(textOf(editor.draft.parameters.threshold_s));
  const isLatency = editor.drawn?.points.some((point) => point.latency_s !== null) ?? false;
  const remove = (index: number) => {
    if (!editor.line || editor.line.points.length < 2) return;
    const { name: parameter, points } = editor.line;
    editor.set({
      kind: editor.draft.kind,
      parameters: { ...editor.draft.parameters, [parameter]: points.filter((_, i) => i !== index) },
    });
    editor.choose(Math.max(0, index - 1));
  };
  return (
    <>
      <ChartPanel
        title="Utility of one consumer"
        sub={
          mayEdit
            ? editor.line
              ? "drag a point or use arrow keys"
              : "drag the point or type"
            : "you may read this function"
        }
        right={
          <>
            <span className="legend">
              <LegendLine colour="var(--c1)">{editor.isDirty ? "draft" : storedName}</LegendLine>
              {editor.formerCurve ? (
                <LegendLine colour="var(--text-3)" dash="4 3" width={1.5}>
                  {storedName}
                </LegendLine>
              ) : null}
              {flow && flow.price > 0 ? (
                <LegendLine colour="var(--price)" width={1.5}>
                  price
                </LegendLine>
              ) : null}
            </span>
            <Segments
              label="Rates drawn"
              value={editor.whole ? "whole" : "fit"}
              options={[
                { value: "fit", label: "Fit" },
                { value: "whole", label: "All rates" },
              ]}
              onChange={(value) => editor.setWhole(value === "whole")}
            />
          </>
        }
        data={{
          name: `${name} utility`,
          head: ["Rate msg/s", "Utility", "Gain of one more msg/s"],
          rows: (editor.drawn?.points ?? []).map((point) => [
            point.rate_per_s,
            point.utility,
            point.marginal_utility,
          ]),
        }}
        format={(cell, column) =>
          typeof cell === "number"
            ? column === 0
              ? rateText(cell)
              : significant(cell, 4)
            : "\u221e"
        }
      >
        <UtilityPlot
          scale={editor.scale}
          draft={editor.curve}
          stored={editor.formerCurve}
          storedName={storedName}
          flow={flow}
          allocation={allocation}
          handles={mayEdit ? editor.handles : []}
          chosen={editor.chosen}
          tip={mayEdit ? editor.tip : null}
          units={editor.units}
          onChoose={editor.choose}
          onMove={editor.move}
          onRelease={editor.release}
          onRemove={remove}
        />
      </ChartPanel>
      <Panel
        title="Marginal utility"
        sub="gain of one more msg/s; must fall from left to right"
        right={<ConcaveBadge editor={editor} />}
      >
        <MarginalPlot
          width={width}
          span={editor.span}
          steps={editor.steps}
          bad={editor.bends}
          draft={editor.marginal}
          stored={editor.formerMarginal}
          flow={flow}
        />
      </Panel>
      {isLatency && editor.drawn ? (
        <LatencyPanel
          name={name}
          drawn={editor.drawn}
          threshold_s={threshold}
          width={width}
          span={editor.span}
          flow={flow}
        />
      ) : null}
    </>
  );
}
