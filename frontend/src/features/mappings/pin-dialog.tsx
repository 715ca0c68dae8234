/** Pin a topic to a stream, or a stream to a group. */
import { useState } from "react";

import { PINNED, type PinKind } from "./pins";

import { catalogUpdate, type CatalogTypes } from "@/api/catalog";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { PickField, TextField, type Option } from "@/components/ui/fields";
import { useObjectOptions } from "@/components/ui/object-options";
import { Segments } from "@/components/ui/page";
import { tellWithUndo } from "@/components/ui/toast";
import { messageFor, problemOf } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

const CONFLICT = 412;
const LONGEST_REASON = 400;

const KINDS: readonly { value: PinKind; label: string }[] = [
  { value: "flow", label: "A topic to a stream" },
  { value: "stream", label: "A stream to a group" },
];

type Topic = CatalogTypes["topics"];
type Stream = CatalogTypes["streams"];
type Group = CatalogTypes["groups"];

/** What the dialog reads of a topic or a stream. */
type Pinnable = {
  id: string;
  name: string;
  version: number;
  now: string | null;
  nowName: string | null;
  pinned: string | null;
  pinnedName: string | null;
  may: boolean;
};

const ofTopic = (row: Topic): Pinnable => ({
  ...{ id: row.id, name: row.name, version: row.version },
  ...{ now: row.stream ?? null, nowName: row.stream_name },
  ...{ pinned: row.pinned_stream ?? null, pinnedName: row.pinned_stream_name },
  may: row.allowed_commands.includes("edit"),
});

const ofStream = (row: Stream): Pinnable => ({
  ...{ id: row.id, name: row.name, version: row.version },
  ...{ now: row.group ?? null, nowName: row.group_name },
  ...{ pinned: row.pinned_group ?? null, pinnedName: row.pinned_group_name },
  may: row.allowed_commands.includes("edit"),
});

const named = ({ id, name }: Topic): Option => ({ value: id, label: name });
const numbered = ({ id, name, number }: Stream | Group): Option => ({
  value: id,
  label: `${name}, number ${number}`,
});

export function PinDialog({
  system,
  open,
  onClose,
  onPinned,
}: {
  /** Its id. */
  system: string;
  open: boolean;
  onClose: () => void;
  /** Whatever shows pins is read again. */
  onPinned: () => Promise<void>;
}) {
  const [kind, setKind] = useState<PinKind>("flow");
  const frame = { system, onClose, onPinned };
  return (
    <Dialog title="Pin" open={open} onClose={onClose}>
      <div className="form">
        <span>
          <Segments label="What to pin" value={kind} options={KINDS} onChange={setKind} />
        </span>
        {kind === "flow" ? <PinTopic {...frame} /> : <PinStream {...frame} />}
      </div>
    </Dialog>
  );
}

type Frame = { system: string; onClose: () => void; onPinned: () => Promise<void> };

function PinTopic(frame: Frame) {
  const [object, setObject] = useState("");
  const [target, setTarget] = useState("");
  const topics = useObjectOptions("topics", frame.system, object, named);
  const streams = useObjectOptions("streams", frame.system, target, numbered);
  return (
    <PinForm
      {...frame}
      kind="flow"
      object={topics.object && ofTopic(topics.object)}
      target={streams.object}
      what={{ ...topics, value: object, onChange: setObject }}
      where={{ ...streams, value: target, onChange: setTarget }}
    />
  );
}

function PinStream(frame: Frame) {
  const [object, setObject] = useState("");
  const [target, setTarget] = useState("");
  const streams = useObjectOptions("streams", frame.system, object, numbered);
  const groups = useObjectOptions("groups", frame.system, target, numbered);
  return (
    <PinForm
      {...frame}
      kind="stream"
      object={streams.object && ofStream(streams.object)}
      target={groups.object}
      what={{ ...streams, value: object, onChange: setObject }}
      where={{ ...groups, value: target, onChange: setTarget }}
    />
  );
}

type Picker = {
  options: readonly Option[];
  loading: boolean;
  onSearch: (text: string) => void;
  value: string;
  onChange: (id: string) => void;
};

/** What a pin of this object means for the next mapping. */
export function pinText(object: Pinnable, target: { id: string; name: string }, kind: PinKind) {
  const { target: place } = PINNED[kind];
  const into = `${place} ${target.name}`;
  const was =
    object.pinned === null || object.pinned === target.id
      ? ""
      : ` It is pinned to ${object.pinnedName ?? ""} so far.`;
  if (object.pinned === target.id) return `${object.name} is pinned to ${into} already.`;
  if (object.now === target.id) {
    return `${object.name} is in ${into} now; from the next mapping on it stays there.${was}`;
  }
  const from = object.now === null ? `in no ${place}` : `in ${object.nowName ?? ""}`;
  return `${object.name} is ${from} now; the next mapping brings it to ${into} and leaves it there.${was}`;
}

function PinForm({
  kind,
  object,
  target,
  what,
  where,
  onClose,
  onPinned,
}: Omit<Frame, "system"> & {
  kind: PinKind;
  object: Pinnable | null;
  target: { id: string; name: string } | null;
  what: Picker;
  where: Picker;
}) {
  const { kind: list, field, word, target: place } = PINNED[kind];
  const [reason, setReason] = useState("");
  const { errors, setErrors, busy, send, others } = useSubmission(["object", field, "reason"]);
  const isKept = object !== null && object.pinned === target?.id;

  const pin = async () => {
    const wrong = [
      ...(object === null ? [{ field: "object", message: `Choose a ${word}.` }] : []),
      ...(target === null ? [{ field: field, message: `Choose a ${place}.` }] : []),
    ];
    if (object === null || target === null) {
      setErrors(wrong);
      return;
    }
    await send(
      async () => {
        const saved = await catalogUpdate(list, object.id, object.version, {
          [field]: target.id,
          ...(reason.trim() ? { reason: reason.trim() } : {}),
        });
        await onPinned();
        tellWithUndo(`Pinned ${object.name} to ${target.name}`, async () => {
          await catalogUpdate(list, object.id, saved.version, {
            [field]: object.pinned,
            reason: "Undo of pinning",
          });
          await onPinned();
        });
        onClose();
      },
      async (error) => {
        // What is chosen is read again; the message of the server says why.
        if (problemOf(error).status === CONFLICT) await onPinned();
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
        void pin();
      }}
    >
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      <PickField
        {...what}
        label={word === "topic" ? "Topic" : "Stream"}
        error={
          messageFor(errors, "object") ??
          (object && !object.may ? `You may not edit ${object.name}.` : undefined)
        }
      />
      <PickField
        {...where}
        label={place === "stream" ? "To stream" : "To group"}
        error={messageFor(errors, field)}
      />
      {object && target ? <Note>{pinText(object, target, kind)}</Note> : null}
      <TextField
        label="Reason"
        hint="Kept in the history."
        required={false}
        maxLength={LONGEST_REASON}
        value={reason}
        onChange={setReason}
        error={messageFor(errors, "reason")}
      />
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <Command
            primary
            icon="pin"
            type="submit"
            disabled={busy || isKept || object?.may === false}
            reason={isKept ? "It is pinned there already." : undefined}
          >
            Pin
          </Command>
        </span>
      </div>
    </form>
  );
}
