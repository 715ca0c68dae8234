/** Import objects by name from a CSV: what would change is shown before it does. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { FileDrop } from "./file-drop";
import { ImportPreview, ImportRefusal } from "./import-result";

import {
  catalogImport,
  exportAddress,
  type CatalogKind,
  type Imported,
  type Table,
} from "@/api/catalog";
import { keys } from "@/api/query-keys";
import type { System } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Dialog } from "@/components/ui/dialogs";
import { CheckField, TextArea, TextField } from "@/components/ui/fields";
import { Loading } from "@/components/ui/panel";
import { tell } from "@/components/ui/toast";
import { KINDS } from "@/lib/kinds";
import { countText, fixed } from "@/lib/numbers";

/** An overlay is a tree that agents may route by: the server imports none. */
export const isImported = (kind: CatalogKind): boolean => kind !== "overlays";

/** References that the server creates by their name where that is asked for. */
const MISSING: Partial<Record<CatalogKind, { field: string; words: string }>> = {
  publishers: { field: "correlation_key", words: "correlation keys" },
};

/** "Publishers" within a sentence; "SLOs" stays as it is. */
const inText = (title: string): string =>
  /^[A-Z]{2}/.test(title) ? title : title.charAt(0).toLowerCase() + title.slice(1);

const PAUSE_MS = 500;

type Source = { table: Table; number: number };

export function ImportDialog({
  system,
  kind,
  open,
  onClose,
}: {
  system: System;
  kind: CatalogKind;
  open: boolean;
  onClose: () => void;
}) {
  return (
    <Dialog title={`Import ${inText(KINDS[kind].many)}`} open={open} onClose={onClose} wide>
      <ImportForm system={system} kind={kind} onClose={onClose} />
    </Dialog>
  );
}

/** The table that was chosen, dropped or pasted last, as it is sent. */
function useSource() {
  const [source, setSource] = useState<Source | null>(null);
  const [text, setText] = useState("");
  const [file, setFile] = useState("");
  const pause = useRef<ReturnType<typeof setTimeout>>(undefined);
  const number = useRef(0);
  useEffect(() => () => clearTimeout(pause.current), []);
  const set = (table: Table | null) => {
    clearTimeout(pause.current);
    number.current += 1;
    setSource(table === null ? null : { table, number: number.current });
  };
  return {
    source,
    text,
    file,
    paste: (next: string) => {
      setText(next);
      setFile("");
      // What was checked before is no longer what would be imported.
      set(null);
      if (next.trim() !== "") pause.current = setTimeout(() => set(next), PAUSE_MS);
    },
    choose: async (chosen: File | undefined) => {
      if (chosen === undefined) return;
      setText("");
      setFile(chosen.name);
      set(null);
      // Read now: a file that is saved again later is another one.
      set(await chosen.arrayBuffer());
    },
  };
}

function ImportForm({
  system,
  kind,
  onClose,
}: {
  system: System;
  kind: CatalogKind;
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const many = inText(KINDS[kind].many);
  const missing = MISSING[kind];
  const { source, text, file, paste, choose } = useSource();
  const [create, setCreate] = useState(false);
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const query = { system: system.id, create_missing: create && missing ? missing.field : "" };
  const check = useQuery({
    queryKey: ["import", kind, system.id, source?.number, create],
    queryFn: ({ signal }) =>
      catalogImport(kind, source?.table ?? "", { ...query, dry_run: true }, { signal }),
    enabled: source !== null,
    retry: false,
    gcTime: 0,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    placeholderData: source === null ? undefined : keepPreviousData,
  });
  const ready = source !== null && !check.isPlaceholderData && !check.isError ? check.data : null;
  const changes = ready ? ready.created + ready.changed : 0;
  const refused = failure ?? (source === null ? null : check.error);

  const run = async () => {
    if (source === null || changes === 0 || busy) return;
    setBusy(true);
    setFailure(null);
    try {
      const done = await catalogImport(
        kind,
        source.table,
        { ...query, dry_run: false, ...(reason ? { reason } : {}) },
        { key: crypto.randomUUID() },
      );
      await Promise.all([
        queries.invalidateQueries({ queryKey: keys.catalog.all }),
        queries.invalidateQueries({ queryKey: keys.systems.all }),
      ]);
      tell(`Imported ${many}`, countsOf(done));
      onClose();
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  const take = (chosen: File | undefined) => {
    setFailure(null);
    void choose(chosen);
  };
  return (
    <form
      className="form"
      noValidate
      aria-busy={busy || check.isFetching}
      onSubmit={(event) => {
        event.preventDefault();
        void run();
      }}
    >
      <p className="muted">
        Creates {many} whose names are new and changes those that differ; nothing is deleted.
        Columns that the table leaves out stay as they are. Begin with{" "}
        <a href={exportAddress(kind, system.id)} download={`${kind}.csv`}>
          what {system.name} has now
        </a>
        , which also shows the columns.
      </p>
      <FileDrop state={file && `${file} is read.`} onFile={take}>
        <TextArea
          label="Or paste the table"
          required={false}
          hint="The first line names the columns. Comma, semicolon or tab; references by name."
          value={text}
          onChange={(next) => {
            setFailure(null);
            paste(next);
          }}
        />
      </FileDrop>
      {missing ? (
        <CheckField
          label={`Create ${missing.words} that are not there`}
          hint="Left off, a name that is not there is refused."
          value={create}
          onChange={setCreate}
        />
      ) : null}
      <div aria-live="polite">
        {refused ? (
          <ImportRefusal error={refused} />
        ) : check.data && source !== null ? (
          <ImportPreview result={check.data} stale={check.isPlaceholderData} now={system} />
        ) : check.isFetching ? (
          <Loading rows={3} label="Checking the table" />
        ) : null}
      </div>
      <TextField
        label="Reason"
        hint="Kept in the history of every object."
        required={false}
        value={reason}
        onChange={setReason}
        maxLength={500}
      />
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Close
          </button>
          <Command
            primary
            icon="upload"
            type="submit"
            disabled={busy || changes === 0}
            reason={
              busy
                ? "Importing."
                : ready
                  ? "Nothing differs."
                  : "Give a table without errors first."
            }
          >
            {busy
              ? `Importing ${countText(changes, "change")}\u2026`
              : changes > 0
                ? `Import ${countText(changes, "change")}`
                : "Import"}
          </Command>
        </span>
      </div>
    </form>
  );
}

const countsOf = (done: Imported): string =>
  `${fixed(done.created)} created, ${fixed(done.changed)} changed, ${fixed(done.unchanged)} ` +
  `unchanged. The model is v${fixed(done.model_version)}.`;
