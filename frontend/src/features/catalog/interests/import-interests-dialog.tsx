/** Import interests from a CSV: checked first, then imported from the same file. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link } from "react-router";

import { FileDrop } from "@/features/catalog/file-drop";

import { ImportOutcome, Progress } from "./import-outcome";
import {
  complaintsAbout,
  differs,
  exportInterestsAddress,
  faultOf,
  goesOn,
  interestImportQuery,
  LIMITS,
  MODE_NAMES,
  MODES,
  modeText,
  useCancelImport,
  type ImportDraft,
  type InterestImport,
} from "./interest-imports";
import { FileChanged, useUpload, type Sending } from "./use-upload";

import { keys } from "@/api/query-keys";
import type { System } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { CheckField, TextField } from "@/components/ui/fields";
import { QueryBody } from "@/components/ui/panel";
import { StateBadge } from "@/components/ui/state-badge";
import { tellFailure } from "@/components/ui/toast";
import { to } from "@/lib/kinds";
import { dataScale, dataText } from "@/lib/numbers";
import { messageFor, unclaimed, type FieldProblem } from "@/lib/problem";

const DRAWN = ["file", "mode", "create_missing", "reason"];
const START: ImportDraft = { file: null, mode: "add", create: false, reason: "" };

export function ImportInterestsDialog({
  system,
  open,
  onClose,
}: {
  system: System;
  open: boolean;
  onClose: () => void;
}) {
  const [busy, setBusy] = useState(false);
  const [stays, setStays] = useState(false);
  // A key pressed by mistake must not throw away what has been sent so far.
  const close = () => (busy ? setStays(true) : onClose());
  return (
    <Dialog title="Import interests" open={open} onClose={close} wide>
      {busy && stays ? <Note>Cancel the upload to close this.</Note> : null}
      <ImportInterests
        system={system}
        onBusy={(next) => {
          setBusy(next);
          setStays(false);
        }}
        onClose={onClose}
      />
    </Dialog>
  );
}

function ImportInterests({
  system,
  onBusy,
  onClose,
}: {
  system: System;
  onBusy: (busy: boolean) => void;
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState(START);
  const [errors, setErrors] = useState<FieldProblem[]>([]);
  const [brokenOff, setBrokenOff] = useState(false);
  const [followed, setFollowed] = useState<InterestImport | null>(null);
  const upload = useUpload(system.id);
  const start = async (dry: boolean) => {
    const { file } = draft;
    const fault = faultOf(file);
    setErrors(fault ? [{ field: "file", message: fault }] : []);
    setBrokenOff(false);
    if (file === null || fault) return;
    onBusy(true);
    try {
      const row = await upload.send({ ...draft, file }, dry);
      setFollowed(row);
      void queries.invalidateQueries({ queryKey: keys.interestImports.all });
    } catch (error) {
      setFollowed(null);
      if (error instanceof DOMException && error.name === "AbortError") setBrokenOff(true);
      else if (error instanceof FileChanged) {
        setDraft((now) => ({ ...now, file: null }));
        const message = `${file.name} has changed since it was chosen. Choose it again.`;
        setErrors([{ field: "file", message }]);
      } else setErrors(complaintsAbout(error, file));
    } finally {
      onBusy(false);
    }
  };
  if (upload.sending) {
    return (
      <Uploading sending={upload.sending} name={draft.file?.name ?? ""} cancel={upload.cancel} />
    );
  }
  if (followed !== null) {
    return (
      <Followed
        begun={followed}
        name={draft.file?.name ?? ""}
        onImport={() => void start(false)}
        onBack={(keep) => {
          setFollowed(null);
          if (!keep) setDraft((now) => ({ ...now, file: null }));
        }}
        onClose={onClose}
      />
    );
  }
  return (
    <ImportForm
      system={system}
      draft={draft}
      onDraft={(next) => {
        setErrors([]);
        setBrokenOff(false);
        setDraft(next);
      }}
      errors={errors}
      brokenOff={brokenOff}
      onStart={(dry) => void start(dry)}
      onClose={onClose}
    />
  );
}

function ImportForm({
  system,
  draft,
  onDraft,
  errors,
  brokenOff,
  onStart,
  onClose,
}: {
  system: System;
  draft: ImportDraft;
  onDraft: (draft: ImportDraft) => void;
  errors: readonly FieldProblem[];
  brokenOff: boolean;
  onStart: (dry: boolean) => void;
  onClose: () => void;
}) {
  const { file, mode } = draft;
  const others = unclaimed(errors, DRAWN);
  const ofMode = messageFor(errors, "mode");
  return (
    <form
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onStart(true);
      }}
    >
      {others.length > 0 ? (
        <Note tone="bad">{others.map(({ message }) => message).join(" ")}</Note>
      ) : null}
      {brokenOff ? <Note>The upload is cancelled: nothing was imported.</Note> : null}
      <p className="muted">
        A line for each interest, names in the columns subscriber and topic, as in{" "}
        <a href={exportInterestsAddress(system.id)} download="interests.csv">
          what {system.name} has now
        </a>
        . All of it is one new version of the model; one wrong line refuses all.
      </p>
      <FileDrop
        state={file === null ? "" : `${file.name}, ${dataText(file.size)}`}
        error={messageFor(errors, "file")}
        onFile={(next) => {
          if (next) onDraft({ ...draft, file: next });
        }}
      >
        <small className="faint">UTF-8 with comma, semicolon or tab; {LIMITS}.</small>
      </FileDrop>
      <fieldset className="field">
        <legend className="lab">What it does</legend>
        {MODE_NAMES.map((name) => (
          <label className="check" key={name}>
            <input
              type="radio"
              name="mode"
              value={name}
              checked={mode === name}
              onChange={() => onDraft({ ...draft, mode: name })}
            />
            <span>
              {MODES[name].word}
              <small>{MODES[name].about}</small>
            </span>
          </label>
        ))}
        {ofMode ? <span className="msg">{ofMode}</span> : null}
      </fieldset>
      {mode === "remove" ? null : (
        <CheckField
          label="Create missing subscribers"
          hint="Left off, a subscriber that is not there is an error; an unknown topic always is."
          value={draft.create}
          onChange={(create) => onDraft({ ...draft, create })}
          error={messageFor(errors, "create_missing")}
        />
      )}
      <TextField
        label="Reason"
        hint="Kept in the history."
        required={false}
        value={draft.reason}
        onChange={(reason) => onDraft({ ...draft, reason })}
        maxLength={500}
        error={messageFor(errors, "reason")}
      />
      <div className="formfoot">
        <span className="faint">A check changes nothing.</span>
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Close
          </button>
          <Command icon="upload" onClick={() => onStart(false)}>
            Import
          </Command>
          <Command primary icon="check" type="submit">
            Check first
          </Command>
        </span>
      </div>
    </form>
  );
}

/** The heading of a step takes the focus that went away with the step before. */
function StepHead({ children }: { children: React.ReactNode }) {
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => head.current?.focus(), []);
  return (
    <h3 tabIndex={-1} ref={head}>
      {children}
    </h3>
  );
}

function Uploading({
  sending: { dry, bytes, sent },
  name,
  cancel,
}: {
  sending: Sending;
  name: string;
  cancel: () => void;
}) {
  const scale = dataScale(bytes);
  const all = sent >= bytes;
  return (
    <div className="form">
      <StepHead>
        Sending {name} {dry ? "to be checked" : "to be imported"}
      </StepHead>
      <Progress
        label="Upload"
        share={sent / bytes}
        what={all ? "All is sent; the server stores it" : "Sending"}
        counted={`${scale.text(sent)} of ${scale.text(bytes)} ${scale.unit}`}
      />
      <div className="formfoot">
        <span className="r">
          <Command
            danger
            icon="ban"
            onClick={cancel}
            disabled={all}
            reason="All is sent; cancel the import that begins."
          >
            Cancel upload
          </Command>
        </span>
      </div>
    </div>
  );
}

/** The import that the file has become, to its end and on. */
function Followed({
  begun,
  name,
  onImport,
  onBack,
  onClose,
}: {
  /** As it was when the server took the file. */
  begun: InterestImport;
  name: string;
  onImport: () => void;
  /** To the form, with the file or without. */
  onBack: (keep: boolean) => void;
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const query = useQuery({ ...interestImportQuery(begun.id), placeholderData: begun });
  const isWritten = query.data?.state === "succeeded" && !query.data.dry_run;
  useEffect(() => {
    if (!isWritten) return;
    // The news say so, too; this covers a stream that is away.
    void queries.invalidateQueries({ queryKey: keys.catalog.all });
    void queries.invalidateQueries({ queryKey: keys.systems.all });
  }, [isWritten, queries]);
  return (
    <div className="form">
      <StepHead>{name}</StepHead>
      <QueryBody query={query} what="The import" rows={4}>
        {(row) => (
          <>
            <div className="importlines">
              <div className="row">
                <Link className="ent" to={to.interestImport(row.system, row.id)}>
                  {row.name}
                </Link>
                <span className="muted">{modeText(row)}</span>
                <span aria-live="polite">
                  <StateBadge state={row.state} />
                </span>
              </div>
            </div>
            <div aria-live={goesOn(row) ? "off" : "polite"} className="form">
              <ImportOutcome row={row} />
            </div>
            <Next row={row} onImport={onImport} onBack={onBack} onClose={onClose} />
          </>
        )}
      </QueryBody>
    </div>
  );
}

function Next({
  row,
  onImport,
  onBack,
  onClose,
}: {
  row: InterestImport;
  onImport: () => void;
  onBack: (keep: boolean) => void;
  onClose: () => void;
}) {
  const cancel = useCancelImport();
  const going = goesOn(row);
  const checked = row.state === "succeeded" && row.dry_run;
  const isAgain = row.state === "failed" || row.state === "cancelled";
  return (
    <div className="formfoot">
      {going ? (
        <span className="faint">It goes on when this is closed; the list of imports has it.</span>
      ) : null}
      <span className="r">
        {row.allowed_commands.includes("cancel") ? (
          <Command
            danger
            icon="ban"
            disabled={cancel.isPending}
            onClick={() =>
              cancel.mutate(row.id, {
                onError: (error) => tellFailure("Not cancelled", error),
              })
            }
          >
            Cancel import
          </Command>
        ) : null}
        <button type="button" className="btn" onClick={onClose}>
          Close
        </button>
        {row.state === "refused" ? (
          <button type="button" className="btn pri" onClick={() => onBack(false)}>
            Choose the corrected file
          </button>
        ) : null}
        {checked || isAgain ? (
          <button type="button" className="btn" onClick={() => onBack(true)}>
            Back
          </button>
        ) : null}
        {checked ? (
          <Command
            primary
            icon="upload"
            onClick={onImport}
            disabled={!differs(row)}
            reason="Nothing differs."
          >
            Import now
          </Command>
        ) : null}
      </span>
    </div>
  );
}
