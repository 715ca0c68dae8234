/** One object: its form, what belongs to it, its history; delete and restore. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";

import { DESCRIPTORS } from "./descriptors";
import { HistoryPanel } from "./history-panel";
import { InForcePanel } from "./in-force-panel";
import { ObjectForm } from "./object-form";
import { RelatedPanel } from "./related-panel";
import { changesOf, formerBody, knownNames, type LooseRow } from "./spec";
import { useObjectDraft } from "./use-object-draft";
import { UtilityCurve } from "./utility-curve";

import {
  catalogCreate,
  catalogDelete,
  catalogOne,
  catalogUpdate,
  type CatalogKind,
} from "@/api/catalog";
import { keys } from "@/api/query-keys";
import { useSystem } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { ConfirmDialog, Note } from "@/components/ui/dialogs";
import { Icon } from "@/components/ui/icons";
import { PageHead } from "@/components/ui/page";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { tell, tellFailure, tellWithUndo } from "@/components/ui/toast";
import { WaitingPanel } from "@/components/ui/waiting-panel";
import { askAddress } from "@/lib/computations";
import { useCurrentSystemIs } from "@/lib/current-system";
import { submitForm, useKeys } from "@/lib/keyboard";
import { isKind, KINDS, to } from "@/lib/kinds";
import { complaintsOf, problemOf } from "@/lib/problem";
import { ageText, exactTime } from "@/lib/time";

/** Kinds of which something is measured. */
const MEASURED: readonly CatalogKind[] = ["topics", "consumer-classes", "brokers"];

export default function ObjectPage() {
  const { systemId = "", kind, id = "" } = useParams();
  if (!isKind(kind)) {
    return (
      <div className="main">
        <section className="panel">
          <Empty>There is no kind of object of that name.</Empty>
        </section>
      </div>
    );
  }
  return <LoadedObject key={id} system={systemId} kind={kind} id={id} />;
}

function LoadedObject({ system, kind, id }: { system: string; kind: CatalogKind; id: string }) {
  useCurrentSystemIs(system);
  const one = useQuery({
    queryKey: keys.catalog.one(kind, id),
    queryFn: ({ signal }) => catalogOne(kind, id, signal),
  });
  if (one.data === undefined) {
    return (
      <>
        <PageHead title={KINDS[kind].many} />
        <div className="main">
          <section className="panel">
            <QueryBody query={one} what={`This ${KINDS[kind].one}`} rows={6}>
              {() => null}
            </QueryBody>
          </section>
        </div>
      </>
    );
  }
  return <ObjectView system={system} kind={kind} latest={one.data} />;
}

function ObjectView({
  system,
  kind,
  latest,
}: {
  system: string;
  kind: CatalogKind;
  latest: LooseRow;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const owner = useSystem(system);
  const words = KINDS[kind];
  const descriptor = DESCRIPTORS[kind];
  // The version that the form was opened on; news of a later one must not change what one edits.
  const [base, setBase] = useState(latest);
  const form = useObjectDraft(descriptor, base, {});
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const mayEdit = latest.allowed_commands.includes("edit");
  const mayDelete = latest.allowed_commands.includes("delete");
  const movedOn = latest.version !== base.version;
  if (movedOn && !form.isDirty) setBase(latest);

  const refresh = () => queries.invalidateQueries({ queryKey: keys.catalog.all });

  const undoTo = (former: LooseRow, version: number) => async () => {
    const body = formerBody(descriptor.fields, former);
    delete body.system;
    await catalogUpdate(kind, former.id, version, { ...body, reason: "Undo of an edit" });
    await refresh();
  };

  const save = async () => {
    const { body, errors } = form.read();
    form.setErrors(errors);
    if (errors.length > 0 || !form.isDirty) return;
    const changed = changesOf(descriptor.fields, form.former, form.draft, body);
    if (JSON.stringify(form.former.utility) !== JSON.stringify(form.draft.utility)) {
      changed.kind = body.kind;
      changed.parameters = body.parameters;
    }
    setBusy(true);
    try {
      const saved = await catalogUpdate(kind, base.id, base.version, {
        ...changed,
        ...(reason ? { reason } : {}),
      });
      queries.setQueryData(keys.catalog.one(kind, base.id), saved);
      setBase(saved);
      form.reset();
      setReason("");
      tellWithUndo(`Saved ${words.one} ${saved.name}`, undoTo(base, saved.version));
      await refresh();
    } catch (error) {
      const problem = problemOf(error);
      if (problem.status === 412) {
        await queries.refetchQueries({ queryKey: keys.catalog.one(kind, base.id) });
      } else {
        form.setErrors(complaintsOf(error));
        if (problem.status === 0 || problem.status >= 500) tellFailure("Not saved", error);
      }
    } finally {
      setBusy(false);
    }
  };

  const remove = async (why: string) => {
    await catalogDelete(kind, latest.id, latest.version, why);
    await navigate(to.kind(system, kind));
    queries.removeQueries({ queryKey: keys.catalog.one(kind, latest.id) });
    await refresh();
    tellWithUndo(`Deleted ${words.one} ${latest.name}`, async () => {
      const body = formerBody(descriptor.fields, latest);
      const made = await catalogCreate(
        kind,
        { ...body, reason: "Undo of its deletion" },
        crypto.randomUUID(),
      );
      await refresh();
      await navigate(to.object(system, kind, made.id));
    });
  };

  useKeys({
    "ctrl+s": () => submitForm("object"),
    e: () => document.querySelector<HTMLElement>("#object input, #object select")?.focus(),
  });

  const related = descriptor.related ?? [];
  return (
    <>
      <PageHead
        title={latest.name}
        crumbs={[
          { label: owner.data?.name ?? "System", to: to.topology(system) },
          { label: words.many, to: to.kind(system, kind) },
        ]}
        state={<span className="tag out">{words.one}</span>}
        facts={[
          { key: "version", icon: "versions", text: `version ${latest.version}` },
          {
            key: "changed",
            icon: "clock",
            text: (
              <span title={exactTime(latest.updated_at)}>
                changed {ageText(latest.updated_at)} ago
              </span>
            ),
          },
        ]}
        commands={
          <>
            {MEASURED.includes(kind) ? (
              <Link className="btn" to={to.overTime(system, kind, latest.id)}>
                <Icon name="chart" small />
                Over time
              </Link>
            ) : null}
            {kind === "utility-functions" ? (
              <Link className="btn" to={to.utilityEditor(system, latest.id)}>
                <Icon name="chart" small />
                Draw the curve
              </Link>
            ) : null}
            {kind === "topics" && owner.data?.allowed_commands.includes("optimize") ? (
              <Link className="btn" to={askAddress("correlation", system, { topic: latest.id })}>
                <Icon name="burst" small />
                Look for bursts
              </Link>
            ) : null}
            {mayDelete ? (
              <Command danger icon="trash" onClick={() => setDeleting(true)}>
                Delete
              </Command>
            ) : null}
            {mayEdit ? (
              <>
                {form.isDirty ? (
                  <button type="button" className="btn" onClick={form.reset}>
                    Discard
                  </button>
                ) : null}
                <Command
                  primary
                  icon="check"
                  type="submit"
                  form="object"
                  disabled={busy || !form.isDirty}
                  reason="Nothing is changed yet."
                >
                  Save
                </Command>
              </>
            ) : null}
          </>
        }
      />
      <div className="main">
        <div className="cols c-8-4">
          <div className="stack">
            {movedOn && form.isDirty ? (
              <Note tone="warn">
                <b>Changed by someone else while you edited.</b> Version {latest.version} is stored,
                you started from version {base.version}. Your entries are still here.{" "}
                <button
                  type="button"
                  className="link"
                  onClick={() => {
                    form.reset();
                    setBase(latest);
                    tell("Loaded the stored version");
                  }}
                >
                  Load the stored version
                </button>{" "}
                or{" "}
                <button
                  type="button"
                  className="link"
                  onClick={() => {
                    // What one has not touched is as somebody else, or a program, has left it.
                    form.setDraft(form.mine);
                    setBase(latest);
                  }}
                >
                  keep mine and save over it
                </button>
                .
              </Note>
            ) : null}
            <Panel
              title={mayEdit ? "Edit" : "Values"}
              sub={
                mayEdit
                  ? "saving what is part of the model advances its version"
                  : "you may read this object"
              }
            >
              <div style={{ maxWidth: 760, paddingTop: 4 }}>
                <ObjectForm
                  id="object"
                  fields={descriptor.fields}
                  draft={form.draft}
                  onDraft={form.setDraft}
                  reason={reason}
                  onReason={setReason}
                  onSubmit={() => void save()}
                  context={{
                    system,
                    resources: owner.data?.resources ?? [],
                    known: knownNames(descriptor.fields, base),
                    stored: form.stored,
                    errors: form.errors,
                    disabled: !mayEdit,
                  }}
                />
              </div>
            </Panel>
            {form.curve ? <UtilityCurve name={latest.name} {...form.curve} /> : null}
            {related.map((entry) => (
              <RelatedPanel
                key={`${entry.kind}-${entry.by}`}
                system={system}
                id={latest.id}
                mayAdd={mayEdit}
                {...entry}
              />
            ))}
          </div>
          <div className="stack">
            {kind === "topics" ? (
              <>
                <InForcePanel
                  system={system}
                  kind="flow"
                  name={latest.name}
                  version={latest.version}
                />
                {latest.delivery === "reliable" ? (
                  <WaitingPanel system={system} topic={latest.name} />
                ) : null}
              </>
            ) : kind === "consumer-classes" ? (
              <InForcePanel
                system={system}
                kind="class"
                name={latest.name}
                version={latest.version}
              />
            ) : null}
            <HistoryPanel object={latest.id} />
          </div>
        </div>
      </div>
      <ConfirmDialog
        title={`Delete ${words.one} ${latest.name}`}
        command="Delete"
        open={deleting}
        onClose={() => setDeleting(false)}
        askReason
        run={remove}
      >
        <p>
          The {words.one} <b>{latest.name}</b> leaves the model; allocations that were computed with
          it stay as they are. It is refused while other objects refer to it. The history keeps it,
          and it can be undone.
          {kind === "topics" || kind === "consumer-classes"
            ? " Agents go on as before until a plan of the model is approved and carried out."
            : null}
        </p>
      </ConfirmDialog>
    </>
  );
}
