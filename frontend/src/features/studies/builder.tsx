/** The form of a new study: what varies, what solves it, its size and its errors as it is built. */
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useNavigate } from "react-router";

import { studiesAt } from "./addresses";
import { groupClasses } from "./day";
import { readDraft, toText, type Draft, type Kind, type Model } from "./draft";
import { ScheduleForm } from "./schedule-form";
import type { FieldError } from "./spec";
import { StudySummary } from "./study-summary";
import { SweepForm } from "./sweep-form";
import { TextForm } from "./text-form";

import type { Optimizer } from "@/api/allocations";
import { keys } from "@/api/query-keys";
import { startStudy, studyCheckQuery } from "@/api/studies";
import { Note } from "@/components/ui/dialogs";
import { CheckField, NumberField, TextField } from "@/components/ui/fields";
import { Segments } from "@/components/ui/page";
import { Panel } from "@/components/ui/panel";
import { messageFor, problemOf } from "@/lib/problem";

const KINDS: readonly { value: Kind; label: string }[] = [
  { value: "sweep", label: "Sweep" },
  { value: "schedule", label: "Through the day" },
  { value: "text", label: "As text" },
];

/** Fields whose messages stand beside them; the others are told above the form. */
const DRAWN = /^(spec\.)?(axes|segments|groups|methods|time_limit_s)|^text$/;

export function Builder({
  system,
  model,
  methods,
  first,
  allocation,
  mayStart,
}: {
  system: string;
  model: Model;
  methods: readonly Optimizer[];
  first: Draft;
  allocation: string | null;
  mayStart: boolean;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(first);
  const [refused, setRefused] = useState<FieldError[]>([]);
  const [busy, setBusy] = useState(false);
  const set = (change: Partial<Draft>) => {
    setRefused([]);
    setDraft((old) => ({ ...old, ...change }));
  };
  const groups = useMemo(
    () => groupClasses(model.classes, draft.grouping),
    [model.classes, draft.grouping],
  );
  const read = useMemo(() => readDraft(draft, model), [draft, model]);

  const request = { system, spec: read.spec, allocation };
  const [settled] = useDebouncedValue(JSON.stringify(request), 350);
  const isSettled = settled === JSON.stringify(request);
  const check = useQuery({
    ...studyCheckQuery(JSON.parse(settled) as typeof request),
    enabled: read.errors.length === 0 && isSettled,
  });
  const told = check.error && isSettled ? problemOf(check.error) : null;
  const said = told
    ? told.errors.length > 0
      ? told.errors
      : [{ field: "", message: told.detail }]
    : [];
  const errors = [...read.errors, ...said, ...refused];

  const start = async () => {
    setBusy(true);
    setRefused([]);
    try {
      const study = await startStudy({ ...request, name: draft.name }, crypto.randomUUID());
      await queries.invalidateQueries({ queryKey: keys.studies.all });
      await navigate(studiesAt.one(study.id));
    } catch (error) {
      const problem = problemOf(error);
      setRefused(
        problem.errors.length > 0 ? problem.errors : [{ field: "", message: problem.detail }],
      );
    } finally {
      setBusy(false);
    }
  };
  const isText = draft.kind === "text";
  const others = errors.filter(
    ({ field }) => !DRAWN.test(field) && !(isText && field.startsWith("spec")),
  );
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (read.errors.length === 0) void start();
      }}
    >
      <div className="cols c-8-4">
        <div className="stack">
          <Panel
            title="What varies"
            right={
              <Segments
                label="Kind of study"
                value={draft.kind}
                options={KINDS}
                onChange={(kind) => {
                  setRefused([]);
                  setDraft((old) =>
                    kind === "text" && old.text === "" ? toText(old, model) : { ...old, kind },
                  );
                }}
              />
            }
          >
            {others.length > 0 ? (
              <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
            ) : null}
            {draft.kind === "sweep" ? (
              <SweepForm
                axes={draft.axes}
                names={model.names}
                resources={model.resources}
                errors={errors}
                onChange={(axes) => set({ axes })}
              />
            ) : draft.kind === "schedule" ? (
              <ScheduleForm
                groups={groups}
                grouping={draft.grouping}
                segments={draft.segments}
                warm={draft.warm}
                errors={errors}
                onGrouping={(grouping) => set({ grouping })}
                onSegments={(segments) => set({ segments })}
                onWarm={(warm) => set({ warm })}
              />
            ) : (
              <TextForm text={draft.text} errors={errors} onChange={(text) => set({ text })} />
            )}
          </Panel>
          {isText ? null : (
            <Methods
              methods={methods}
              chosen={draft.methods}
              error={messageFor(errors, "methods") ?? messageFor(errors, "spec.methods")}
              onChange={(chosen) => set({ methods: chosen })}
            />
          )}
        </div>
        <div className="stack">
          <StudySummary
            size={read.size}
            known={check.data}
            waiting={check.isFetching || !isSettled}
            ready={read.errors.length === 0 && !told}
            busy={busy}
            mayStart={mayStart}
          >
            <TextField
              label="Name"
              required={false}
              hint="Left empty, the study is called after what varies."
              maxLength={200}
              value={draft.name}
              onChange={(name) => set({ name })}
            />
            {isText ? null : (
              <NumberField
                label="Time limit per answer"
                unit="s"
                required={false}
                hint="The best answer so far is kept when it passes. With a limit, a slower machine may give other answers."
                value={draft.limit}
                onChange={(limit) => set({ limit })}
                error={
                  messageFor(errors, "time_limit_s") ?? messageFor(errors, "spec.time_limit_s")
                }
              />
            )}
          </StudySummary>
        </div>
      </div>
    </form>
  );
}

function Methods({
  methods,
  chosen,
  error,
  onChange,
}: {
  methods: readonly Optimizer[];
  chosen: readonly string[];
  error: string | undefined;
  onChange: (chosen: string[]) => void;
}) {
  return (
    <Panel title="Solved with" sub="each scenario once per method">
      <fieldset className="form">
        <legend className="clipped">Methods</legend>
        <div className="grid2">
          {methods.map((method) => (
            <CheckField
              key={method.name}
              label={method.title}
              hint={method.summary}
              value={chosen.includes(method.name)}
              onChange={(on) =>
                onChange(
                  on ? [...chosen, method.name] : chosen.filter((other) => other !== method.name),
                )
              }
            />
          ))}
        </div>
        {error ? <Note tone="bad">{error}</Note> : null}
      </fieldset>
    </Panel>
  );
}
