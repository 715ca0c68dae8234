/** Identity, draft state, undo and the way to the model; conflicts are told here. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import { SaveDialog } from "./save-dialog";
import type { useSituation } from "./situation";
import type { Editor } from "./use-editor";

import { catalogUpdate } from "@/api/catalog";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { Note } from "@/components/ui/dialogs";
import { Icon } from "@/components/ui/icons";
import { PageHead } from "@/components/ui/page";
import { Badge } from "@/components/ui/state-badge";
import { tellWithUndo } from "@/components/ui/toast";
import type { LooseRow } from "@/features/catalog/spec";
import { useKeys } from "@/lib/keyboard";
import { to } from "@/lib/kinds";
import { countText, fixed, rateText } from "@/lib/numbers";
import { problemOf } from "@/lib/problem";
import { ageText, clockText, exactTime } from "@/lib/time";

const KIND = "utility-functions";

const bound = (rate: number) => (Number.isInteger(rate) ? fixed(rate) : rateText(rate));

function factsOf(latest: LooseRow, { classes, flows }: ReturnType<typeof useSituation>) {
  const rows = classes.data ?? [];
  const consumers = rows.reduce((sum, row) => sum + row.population_max, 0);
  const names = [...new Set(rows.map((row) => row.topic_name))];
  const lows = flows.map((flow) => flow.rateMin);
  const highs = flows.map((flow) => flow.rateMax);
  return [
    ...(names.length > 0
      ? [
          {
            key: "flows",
            icon: "rss" as const,
            text: names.length > 3 ? countText(names.length, "flow") : `flow ${names.join(", ")}`,
          },
        ]
      : []),
    {
      key: "classes",
      icon: "users" as const,
      text:
        rows.length === 0
          ? "used by no class"
          : `${rows.length > 2 ? countText(rows.length, "class", "classes") : rows.map((row) => row.name).join(" and ")}, ${fixed(consumers)} consumers`,
    },
    ...(flows.length > 0
      ? [
          {
            key: "bounds",
            icon: "gauge" as const,
            text: `rate between ${bound(Math.min(...lows))} and ${bound(Math.max(...highs))} msg/s`,
          },
        ]
      : []),
    {
      key: "changed",
      icon: "history" as const,
      text: (
        <span title={exactTime(latest.updated_at)}>last edit {ageText(latest.updated_at)} ago</span>
      ),
    },
  ];
}

function useSave(latest: LooseRow, editor: Editor) {
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: keys.catalog.all });
  return async (reason: string) => {
    try {
      const saved = (await catalogUpdate(KIND, latest.id, editor.version, {
        kind: editor.draft.kind,
        parameters: editor.parameters,
        ...(reason ? { reason } : {}),
      })) as unknown as LooseRow;
      const { kind, parameters } = latest;
      editor.adopt(saved);
      queries.setQueryData(keys.catalog.one(KIND, latest.id), saved);
      tellWithUndo(`Saved utility ${saved.name}`, async () => {
        await catalogUpdate(KIND, latest.id, saved.version, {
          kind,
          parameters,
          reason: "Undo of an edit",
        });
        await refresh();
      });
      await refresh();
      await queries.invalidateQueries({ queryKey: keys.systems.all });
    } catch (error) {
      // The stored version appears, and with it the note that says how to go on.
      if (problemOf(error).status === 412) {
        await queries.refetchQueries({ queryKey: keys.catalog.one(KIND, latest.id) });
      }
      throw error;
    }
  };
}

function Commands({
  editor,
  mayEdit,
  modelVersion,
  details,
  onSave,
}: {
  editor: Editor;
  mayEdit: boolean;
  modelVersion: number;
  details: string;
  onSave: () => void;
}) {
  return (
    <>
      {editor.keptAt ? (
        <span className="faint">Saved to this browser {clockText(editor.keptAt)}</span>
      ) : null}
      <Link className="btn ghost" to={details}>
        Name and history
      </Link>
      {mayEdit ? (
        <>
          <button
            type="button"
            className="btn ghost"
            disabled={!editor.canUndo}
            onClick={editor.undo}
          >
            <Icon name="back" small />
            Undo <kbd>Ctrl Z</kbd>
          </button>
          {editor.canRedo ? (
            <button type="button" className="btn ghost" onClick={editor.redo}>
              Redo <kbd>Ctrl Y</kbd>
            </button>
          ) : null}
          <button type="button" className="btn" disabled={!editor.isDirty} onClick={editor.discard}>
            Discard
          </button>
          <Command
            primary
            icon="check"
            disabled={!editor.isDirty || !editor.isSound}
            reason={
              editor.isDirty ? "The draft has a fault; mend it first." : "Nothing is changed yet."
            }
            onClick={onSave}
          >
            Save as model v{modelVersion + 1}
          </Command>
        </>
      ) : null}
    </>
  );
}

export function EditorHead({
  system,
  systemName,
  modelVersion,
  latest,
  editor,
  situation,
  mayEdit,
}: {
  system: string;
  systemName: string;
  modelVersion: number;
  latest: LooseRow;
  editor: Editor;
  situation: ReturnType<typeof useSituation>;
  mayEdit: boolean;
}) {
  const [saving, setSaving] = useState(false);
  const save = useSave(latest, editor);
  const ask = () => {
    if (mayEdit && editor.isDirty && editor.isSound) setSaving(true);
  };
  useKeys(
    {
      "ctrl+z": (event) => (event.shiftKey ? editor.redo() : editor.undo()),
      "ctrl+y": () => editor.redo(),
      "ctrl+s": ask,
      e: () => document.querySelector<HTMLElement>(".pt, .pts input")?.focus(),
    },
    mayEdit && !saving,
  );
  return (
    <>
      <PageHead
        title={`Utility of ${latest.name}`}
        crumb={latest.name}
        crumbs={[
          { label: systemName, to: to.topology(system) },
          { label: "Utilities & SLOs", to: to.kind(system, KIND) },
        ]}
        state={
          editor.isDirty ? (
            <Badge tone="warn" icon="edit" large>
              Draft, unsaved
            </Badge>
          ) : (
            <span className="tag out">as in the model</span>
          )
        }
        commands={
          <Commands
            editor={editor}
            mayEdit={mayEdit}
            modelVersion={modelVersion}
            details={to.object(system, KIND, latest.id)}
            onSave={ask}
          />
        }
        facts={factsOf(latest, situation)}
      />
      {editor.isBehind ? (
        <div className="main" style={{ paddingBottom: 0 }}>
          <Note tone="warn">
            <b>Changed by someone else while you edited.</b> Version {latest.version} is stored,
            this draft began on version {editor.version}. It is still here; the dashed line is what
            is stored now.{" "}
            <button type="button" className="link" onClick={editor.discard}>
              Load the stored version
            </button>{" "}
            or{" "}
            <button type="button" className="link" onClick={editor.overtake}>
              keep mine and save over it
            </button>
            .
          </Note>
        </div>
      ) : null}
      <SaveDialog
        name={latest.name}
        stored={editor.stored}
        draft={editor.draft}
        classes={situation.classes.data ?? []}
        modelVersion={modelVersion}
        open={saving}
        onClose={() => setSaving(false)}
        save={save}
      />
    </>
  );
}
