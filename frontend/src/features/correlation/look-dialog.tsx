/** Ask for an analysis: the topic, where its messages are known from, and what counts as together. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { requestOf, startDraft, wrongIn, type LookDraft } from "./look-draft";
import { WhatIsMeasured } from "./what-is-measured";

import { analyse, recordingsQuery } from "@/api/correlation";
import { keys } from "@/api/query-keys";
import type { System } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { NumberField, PickField, TextField } from "@/components/ui/fields";
import { useObjectOptions } from "@/components/ui/object-options";
import { Segments } from "@/components/ui/page";
import { QueryBody } from "@/components/ui/panel";
import { to } from "@/lib/kinds";
import { fixed } from "@/lib/numbers";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";
import { clockText } from "@/lib/time";

const DRAWN = [
  ...["topic", "minutes", "recording", "within_s", "least_share", "smallest_group", "note"],
];
const LONGEST_NOTE = 2000;

const SOURCES = [
  { value: "measured", label: "What agents measured" },
  { value: "recording", label: "A recording" },
] as const;

const MEGABYTE = 1e6;

export function LookDialog({
  system,
  open,
  onClose,
  topic = "",
}: {
  system: System;
  open: boolean;
  onClose: () => void;
  /** The one that is asked about. */
  topic?: string;
}) {
  return (
    <Dialog title="Look for publishers that burst together" open={open} onClose={onClose} wide>
      <LookForm system={system} initialTopic={topic} onClose={onClose} />
    </Dialog>
  );
}

function LookForm({
  system,
  initialTopic,
  onClose,
}: {
  system: System;
  initialTopic: string;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(() => startDraft(initialTopic));
  const { errors, setErrors, busy, send, others } = useSubmission(DRAWN);
  const topics = useObjectOptions("topics", system.id, draft.topic, ({ id, name }) => ({
    value: id,
    label: name,
  }));
  const set = (change: Partial<LookDraft>) => setDraft({ ...draft, ...change });
  const message = (field: string) => messageFor(errors, field);

  const start = async () => {
    const wrong = wrongIn(draft);
    setErrors(wrong);
    if (wrong.length > 0) return;
    await send(
      async () => {
        const run = await analyse(requestOf(draft, system.id));
        await queries.invalidateQueries({ queryKey: keys.runs.all });
        await navigate(to.run(run.id));
      },
      () => {
        // Whatever refuses it is what the dialog should say of the measurement by now.
        void queries.invalidateQueries({ queryKey: keys.publisherTimes(draft.topic) });
        return false;
      },
    );
  };
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
        Compares when publishers of a topic sent, and suggests groups that send at the same moments.
        No key changes until somebody accepts a suggestion.
      </p>
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      <PickField
        label="Topic"
        hint="Its publishers are compared with each other."
        options={topics.options}
        value={draft.topic}
        onChange={(topic) => set({ topic })}
        onSearch={topics.onSearch}
        loading={topics.loading}
        error={message("topic")}
      />
      <Segments
        label="Messages from"
        value={draft.source}
        options={SOURCES}
        onChange={(source) => set({ source })}
      />
      {draft.source === "measured" ? (
        <>
          {draft.topic === "" ? null : <WhatIsMeasured topic={draft.topic} />}
          <div className="two">
            <NumberField
              label="Of the last"
              hint="Agents' reports are kept for 30 min."
              unit="min"
              value={draft.minutes}
              onChange={(minutes) => set({ minutes })}
              error={message("minutes")}
            />
          </div>
        </>
      ) : (
        <RecordingField
          value={draft.recording}
          onChange={(recording) => set({ recording })}
          error={message("recording")}
        />
      )}
      <div className="three">
        <NumberField
          label="Together within"
          hint="Two moments at most so far apart."
          unit="ms"
          value={draft.within}
          onChange={(within) => set({ within })}
          error={message("within_s")}
        />
        <NumberField
          label="Least share"
          hint="Of the moments of the one that has fewer."
          unit="%"
          value={draft.share}
          onChange={(share) => set({ share })}
          error={message("least_share")}
        />
        <NumberField
          label="Smallest group"
          hint="Smaller ones are left out."
          unit="publishers"
          value={draft.smallest}
          onChange={(smallest) => set({ smallest })}
          error={message("smallest_group")}
        />
      </div>
      <TextField
        label="Note"
        required={false}
        hint="Kept with the analysis."
        value={draft.note}
        onChange={(note) => set({ note })}
        maxLength={LONGEST_NOTE}
        error={message("note")}
      />
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Close
          </button>
          <Command primary icon="play" type="submit" disabled={busy}>
            Start run
          </Command>
        </span>
      </div>
    </form>
  );
}

function RecordingField({
  value,
  onChange,
  error,
}: {
  value: string;
  onChange: (name: string) => void;
  error?: string;
}) {
  const recordings = useQuery(recordingsQuery);
  return (
    <QueryBody query={recordings} what="The recordings" rows={1}>
      {(rows) => (
        <PickField
          label="Recording"
          hint={
            rows.length === 0
              ? "There is none yet: put Parquet of messages into the folder of recordings of the server."
              : "Messages of the topic in it, from its first to its last."
          }
          options={rows.map(({ name, bytes, modified_at: at }) => ({
            value: name,
            label: `${name}, ${fixed(bytes / MEGABYTE, 1)} MB, ${clockText(at)} UTC`,
          }))}
          value={value}
          onChange={onChange}
          disabled={rows.length === 0}
          error={error}
        />
      )}
    </QueryBody>
  );
}
