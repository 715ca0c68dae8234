/** The editor of a utility function: draw or type it, see what it gives and what it would change. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useParams } from "react-router";

import { Charts } from "./charts";
import { EditorHead } from "./editor-head";
import { switchedTo } from "./kind-switch";
import { ParametersPanel } from "./parameters-panel";
import { PreviewPanel } from "./preview-panel";
import { BOX } from "./scale";
import { RequestsPanel } from "./requests-panel";
import { AtRatePanel, UsedByPanel } from "./side-panels";
import { useSituation } from "./situation";
import { useEditor } from "./use-editor";

import { catalogOne } from "@/api/catalog";
import { keys } from "@/api/query-keys";
import { useSystem } from "@/api/systems";
import { PageHead } from "@/components/ui/page";
import { Failure, Panel, QueryBody } from "@/components/ui/panel";
import type { LooseRow } from "@/features/catalog/spec";
import { KindPicker } from "@/features/catalog/utility-input";
import { utilityKindsQuery, type UtilityKind } from "@/features/catalog/utility-kinds";
import { useCurrentSystemIs } from "@/lib/current-system";
import { useWidth } from "@/lib/width";

/** What a panel keeps free left and right of its body. */
const PADDING = 30;

export default function UtilityEditorPage() {
  const { systemId = "", id = "" } = useParams();
  useCurrentSystemIs(systemId);
  const one = useQuery({
    queryKey: keys.catalog.one("utility-functions", id),
    queryFn: ({ signal }) => catalogOne("utility-functions", id, signal),
  });
  const kinds = useQuery(utilityKindsQuery);
  if (one.data && kinds.data) {
    return <EditorView key={id} system={systemId} latest={one.data} kinds={kinds.data.results} />;
  }
  return (
    <>
      <PageHead title="Utility function" />
      <div className="main">
        <section className="panel">
          <QueryBody query={one} what="This utility function" rows={8}>
            {() => (
              <QueryBody query={kinds} what="The kinds of utility function" rows={8}>
                {() => null}
              </QueryBody>
            )}
          </QueryBody>
        </section>
      </div>
    </>
  );
}

function EditorView({
  system,
  latest,
  kinds,
}: {
  system: string;
  latest: LooseRow;
  kinds: readonly UtilityKind[];
}) {
  const owner = useSystem(system);
  const situation = useSituation(system, latest.id);
  const [picked, setPicked] = useState<string | null>(null);
  const { flows, allocation } = situation;
  const flow = flows.find((one) => one.flow === picked) ?? flows[0] ?? null;
  const [column, columnWidth] = useWidth<HTMLDivElement>(BOX.width + PADDING);
  const width = columnWidth - PADDING;
  const editor = useEditor(latest, kinds, flow, width);
  const mayEdit = latest.allowed_commands.includes("edit");
  const modelVersion = owner.data?.model_version ?? 0;
  const kind = kinds.find((entry) => entry.kind === editor.draft.kind);
  const pick = (next: UtilityKind) => {
    if (next.kind === editor.draft.kind) return;
    const low = flow?.rateMin ?? 0;
    const rate = flow?.rate ?? editor.span / 4;
    const rates = [0, low, rate, rate * 2.5, editor.span];
    editor.set(
      switchedTo(next, {
        from: editor.draft,
        stored: editor.stored,
        tried: editor.tried.current,
        curve: editor.curve,
        rates,
      }),
    );
    editor.choose(0);
  };
  return (
    <>
      <EditorHead
        system={system}
        systemName={owner.data?.name ?? "System"}
        modelVersion={modelVersion}
        latest={latest}
        editor={editor}
        situation={situation}
        mayEdit={mayEdit}
      />
      <div className="main">
        <Panel title="Kind" sub="how much one consumer gains from a rate">
          <KindPicker
            kinds={kinds}
            value={editor.draft.kind}
            onChange={pick}
            disabled={!mayEdit}
            detailed
          />
        </Panel>
        <div className="cols c-8-4 c-edit">
          <div className="stack" ref={column}>
            {editor.drawnError ? (
              <Panel title="Utility of one consumer">
                <Failure error={editor.drawnError} what="The curve" />
              </Panel>
            ) : (
              <Charts
                name={latest.name}
                width={width}
                modelVersion={modelVersion}
                editor={editor}
                allocation={allocation ? `A-${allocation.number}` : null}
                flow={flow}
                mayEdit={mayEdit}
              />
            )}
            {mayEdit ? (
              <PreviewPanel
                system={system}
                utility={latest.id}
                modelVersion={modelVersion}
                kind={editor.draft.kind}
                parameters={editor.isSound ? editor.parameters : null}
                isDirty={editor.isDirty}
              />
            ) : null}
          </div>
          <div className="stack">
            {kind ? <ParametersPanel editor={editor} kind={kind} mayEdit={mayEdit} /> : null}
            {editor.draft.kind === "latency" ? (
              <RequestsPanel
                system={system}
                utility={latest.id}
                editor={editor}
                mayEdit={mayEdit}
              />
            ) : null}
            {flow && allocation ? (
              <AtRatePanel
                allocation={`A-${allocation.number}`}
                flows={flows}
                flow={flow}
                onFlow={setPicked}
                draft={editor.heightAt(flow.rate)}
                draftSlope={editor.gainAt(flow.rate)}
                stored={editor.formerAt(flow.rate)}
                storedName={`Model v${modelVersion}`}
                hasPrices={situation.loads.some((load) => load.price > 0)}
              />
            ) : null}
            <UsedByPanel system={system} utility={latest.id} classes={situation.classes} />
          </div>
        </div>
      </div>
    </>
  );
}
