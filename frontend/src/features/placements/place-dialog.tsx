/** Ask for a placement: the topic, the brokers that shall be empty of it, the method. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { catalogAll, type CatalogTypes } from "@/api/catalog";
import { place, placementMethodsQuery, type PlacementMethod } from "@/api/placements";
import { keys } from "@/api/query-keys";
import type { System } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import {
  ChoiceField,
  NumberField,
  PickField,
  PickManyField,
  TextField,
  type Option,
} from "@/components/ui/fields";
import { useObjectOptions } from "@/components/ui/object-options";
import { QueryBody } from "@/components/ui/panel";
import { MethodParameters } from "@/components/ui/parameter-fields";
import { to } from "@/lib/kinds";
import { fixed, rateText } from "@/lib/numbers";
import { parameterDraft, readNumber, readParameters, type ParameterDraft } from "@/lib/parameters";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

const DRAWN = ["topic", "method", "seed", "note", "parameters", "drained_brokers"];
const LONGEST_NOTE = 2000;

type Topic = CatalogTypes["topics"];

export function PlaceDialog({
  system,
  open,
  onClose,
  topic,
}: {
  system: System;
  open: boolean;
  onClose: () => void;
  /** The one that is asked about. */
  topic?: string;
}) {
  const methods = useQuery({ ...placementMethodsQuery, enabled: open });
  return (
    <Dialog title="Place a topic" open={open} onClose={onClose} wide>
      <QueryBody query={methods} what="The methods" rows={6}>
        {({ results }) => (
          <PlaceForm
            system={system}
            methods={results}
            initialTopic={topic ?? ""}
            onClose={onClose}
          />
        )}
      </QueryBody>
    </Dialog>
  );
}

/** Only a token bucket is split; the others are there, with the reason why they cannot be chosen. */
function optionOf({ id, name, token_rate_per_s: rate, token_bucket: bucket }: Topic): Option {
  if (typeof rate === "number" && typeof bucket === "number") {
    return { value: id, label: `${name}, ${rateText(rate)} tokens/s, bucket ${fixed(bucket)}` };
  }
  return { value: id, label: `${name}: no token bucket, so nothing to split`, disabled: true };
}

function PlaceForm({
  system,
  methods,
  initialTopic,
  onClose,
}: {
  system: System;
  methods: readonly PlacementMethod[];
  initialTopic: string;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const scope = { system: system.id };
  const brokers = useQuery({
    queryKey: keys.catalog.whole("brokers", scope),
    queryFn: ({ signal }) => catalogAll("brokers", scope, signal),
  });
  const usual = methods.find((entry) => entry.is_default) ?? methods[0];
  const [topic, setTopic] = useState(initialTopic);
  const topics = useObjectOptions("topics", system.id, topic, optionOf);
  const [name, setName] = useState(usual?.name ?? "");
  const [drafts, setDrafts] = useState<Record<string, ParameterDraft>>({});
  const [drained, setDrained] = useState<string[]>([]);
  const [seed, setSeed] = useState("0");
  const [note, setNote] = useState("");
  const { errors, setErrors, busy, send, others } = useSubmission(DRAWN);
  const method = methods.find((entry) => entry.name === name);
  const described = method?.parameters ?? [];
  const draft = drafts[name] ?? parameterDraft(described);
  const serving = (brokers.data ?? []).filter(
    (row) => typeof row.publish_rate_max_per_s === "number",
  );

  const start = async () => {
    const parameters = readParameters(described, draft);
    const wrong = [...parameters.errors];
    const seedNumber = readNumber(seed) ?? 0;
    if (topic === "") wrong.push({ field: "topic", message: "Choose a topic." });
    if (!Number.isInteger(seedNumber) || seedNumber < 0) {
      wrong.push({ field: "seed", message: "Give a whole number, 0 or more." });
    }
    setErrors(wrong);
    if (wrong.length > 0) return;
    await send(async () => {
      const run = await place({
        system: system.id,
        topic,
        method: name,
        parameters: parameters.values,
        drained_brokers: drained,
        seed: seedNumber,
        note: note.trim(),
      });
      await queries.invalidateQueries({ queryKey: keys.runs.all });
      await navigate(to.run(run.id));
    });
  };
  const message = (field: string) =>
    messageFor(errors, field) ?? errors.find((one) => one.field.startsWith(`${field}[`))?.message;
  return (
    <form
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <p className="muted">
        Freezes model v{fixed(system.model_version)} of {system.name} and starts a run on it. The
        result is a proposal; no publisher moves.
      </p>
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      <PickField
        label="Topic"
        hint="Its token rate and bucket are what is split over the brokers."
        options={topics.options}
        value={topic}
        onChange={setTopic}
        onSearch={topics.onSearch}
        loading={topics.loading}
        error={message("topic")}
      />
      <PickManyField
        label="Brokers to drain"
        required={false}
        hint={
          brokers.data && serving.length === 0
            ? "No broker of this system has a publish rate yet, so none can serve publishers."
            : "They give up the publishers whom they have, and get none."
        }
        options={serving.map((row) => ({ value: row.id, label: row.name }))}
        value={drained}
        onChange={setDrained}
        error={message("drained_brokers")}
      />
      <div className="grid2">
        <ChoiceField
          label="Method"
          hint={method?.summary}
          options={methods.map((entry) => ({ value: entry.name, label: entry.title }))}
          value={name}
          onChange={setName}
          error={message("method")}
        />
        <NumberField
          label="Seed"
          hint="The same seed on the same snapshot gives the same answer."
          value={seed}
          onChange={setSeed}
          error={message("seed")}
        />
      </div>
      <MethodParameters
        method={method}
        draft={draft}
        onChange={(next) => setDrafts({ ...drafts, [name]: next })}
        errors={errors}
      />
      <TextField
        label="Note"
        required={false}
        hint="Kept with the placement."
        value={note}
        onChange={setNote}
        maxLength={LONGEST_NOTE}
        error={message("note")}
      />
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Close
          </button>
          <Command primary icon="play" type="submit" disabled={busy} focus>
            Start run
          </Command>
        </span>
      </div>
    </form>
  );
}
