/** Make a new object; references in the address (?topic=…) are filled in. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useNavigate, useParams, useSearchParams } from "react-router";

import { DESCRIPTORS } from "./descriptors";
import { ObjectForm } from "./object-form";
import type { Draft } from "./spec";
import { useObjectDraft } from "./use-object-draft";
import { UtilityCurve } from "./utility-curve";

import { catalogCreate, catalogDelete, catalogOne, type CatalogKind } from "@/api/catalog";
import { keys } from "@/api/query-keys";
import { useSystem } from "@/api/systems";
import { Command } from "@/components/ui/command";
import type { Option } from "@/components/ui/fields";
import { PageHead } from "@/components/ui/page";
import { Empty, Panel } from "@/components/ui/panel";
import { tellFailure, tellWithUndo } from "@/components/ui/toast";
import { useCurrentSystemIs } from "@/lib/current-system";
import { submitForm, useKeys } from "@/lib/keyboard";
import { isKind, KINDS, to } from "@/lib/kinds";
import { complaintsOf, problemOf } from "@/lib/problem";

export default function NewObjectPage() {
  const { systemId = "", kind } = useParams();
  if (!isKind(kind)) {
    return (
      <div className="main">
        <section className="panel">
          <Empty>There is no kind of object of that name.</Empty>
        </section>
      </div>
    );
  }
  return <NewObject key={kind} system={systemId} kind={kind} />;
}

/** The first reference that the address fills in, with its name. */
function usePrefill(kind: CatalogKind): { prefill: Draft; known: Option[] } {
  const [params] = useSearchParams();
  const field = DESCRIPTORS[kind].fields.find(
    (entry) => entry.kind === "ref" && params.has(entry.name),
  );
  const target = field?.kind === "ref" ? field.to : "topics";
  const id = field ? (params.get(field.name) ?? "") : "";
  const named = useQuery({
    queryKey: keys.catalog.one(target, id),
    queryFn: ({ signal }) => catalogOne(target, id, signal),
    enabled: id !== "",
  });
  const name = named.data?.name;
  return useMemo(
    () => ({
      prefill: field ? { [field.name]: id } : {},
      known: name === undefined ? [] : [{ value: id, label: name }],
    }),
    [field, id, name],
  );
}

function NewObject({ system, kind }: { system: string; kind: CatalogKind }) {
  useCurrentSystemIs(system);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const words = KINDS[kind];
  const descriptor = DESCRIPTORS[kind];
  const owner = useSystem(system);
  const { prefill, known } = usePrefill(kind);
  const form = useObjectDraft(descriptor, null, prefill);
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [key] = useState(() => crypto.randomUUID());
  const [attempt, setAttempt] = useState(0);

  const save = async () => {
    const { body, errors } = form.read();
    form.setErrors(errors);
    if (errors.length > 0) return;
    setBusy(true);
    try {
      const made = await catalogCreate(
        kind,
        { ...body, system, ...(reason ? { reason } : {}) },
        `${key}-${attempt}`,
      );
      await queries.invalidateQueries({ queryKey: keys.catalog.all });
      tellWithUndo(`Created ${words.one} ${made.name}`, async () => {
        await catalogDelete(kind, made.id, made.version, "Undo of its creation");
        await queries.invalidateQueries({ queryKey: keys.catalog.all });
        await navigate(to.kind(system, kind));
      });
      await navigate(to.object(system, kind, made.id), { replace: true });
    } catch (error) {
      const problem = problemOf(error);
      // A corrected form is another request: the key of the refused one stays with it.
      setAttempt((count) => count + 1);
      form.setErrors(complaintsOf(error));
      if (problem.status === 0 || problem.status >= 500) tellFailure("Not created", error);
    } finally {
      setBusy(false);
    }
  };
  useKeys({ "ctrl+s": () => submitForm("object") });

  return (
    <>
      <PageHead
        title={`New ${words.one}`}
        crumbs={[
          { label: owner.data?.name ?? "System", to: to.topology(system) },
          { label: words.many, to: to.kind(system, kind) },
        ]}
        commands={
          <>
            <button
              type="button"
              className="btn"
              onClick={() => void navigate(to.kind(system, kind))}
            >
              Discard
            </button>
            <Command primary icon="check" type="submit" form="object" disabled={busy}>
              Create {words.one}
            </Command>
          </>
        }
        plainFacts={<span>{words.about}</span>}
      />
      <div className="main">
        <div className={form.curve ? "cols c-2" : "cols"}>
          <Panel title={`New ${words.one}`} sub="advances the model version">
            <div style={{ maxWidth: 720, paddingTop: 4 }}>
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
                  known,
                  stored: {},
                  errors: form.errors,
                  disabled: false,
                }}
              />
            </div>
          </Panel>
          {form.curve ? (
            <UtilityCurve
              name={typeof form.draft.name === "string" ? form.draft.name : ""}
              {...form.curve}
            />
          ) : null}
        </div>
      </div>
    </>
  );
}
