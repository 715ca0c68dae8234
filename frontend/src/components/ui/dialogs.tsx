/** Dialogs: a frame, and the confirmation that shows what will change before it asks. */
import { Modal } from "@mantine/core";
import { useState } from "react";

import { TextField } from "./fields";
import { Icon } from "./icons";

import { problemOf } from "@/lib/problem";

export function Dialog({
  title,
  open,
  onClose,
  wide = false,
  children,
}: {
  title: string;
  open: boolean;
  onClose: () => void;
  wide?: boolean;
  children: React.ReactNode;
}) {
  return (
    <Modal.Root
      opened={open}
      onClose={onClose}
      size={wide ? 720 : 520}
      centered
      transitionProps={{ duration: 120 }}
    >
      <Modal.Overlay backgroundOpacity={0.4} />
      <Modal.Content aria-label={title}>
        <div className="dialoghead">
          <h2>{title}</h2>
          <button type="button" className="iconbtn" aria-label="Close" onClick={onClose}>
            <Icon name="x" />
          </button>
        </div>
        <Modal.Body>{children}</Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

export function Note({
  tone = "",
  children,
}: {
  tone?: "" | "good" | "warn" | "bad";
  children: React.ReactNode;
}) {
  const icon = tone === "good" ? "check" : tone === "" ? "info" : "alert";
  return (
    <div className={`note ${tone}`} role={tone === "bad" ? "alert" : undefined}>
      <Icon name={icon} />
      <span>{children}</span>
    </div>
  );
}

const LEAST_REASON = 5;

/** Says what a command will do, takes a reason where history keeps one, and shows why it failed. */
export function ConfirmDialog({
  title,
  open,
  onClose,
  command,
  dangerous = true,
  askReason = false,
  needsReason = false,
  reasonLabel = "Reason",
  ready = true,
  run,
  children,
}: {
  title: string;
  open: boolean;
  onClose: () => void;
  /** The plain verb on the button, the same one as on the button that opened this. */
  command: string;
  dangerous?: boolean;
  askReason?: boolean;
  /** Without a reason of a few words the command is not given. */
  needsReason?: boolean;
  reasonLabel?: string;
  /** False while what is typed into its fields cannot be sent. */
  ready?: boolean;
  run: (reason: string) => Promise<unknown>;
  children: React.ReactNode;
}) {
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const missing = needsReason && reason.trim().length < LEAST_REASON;
  const close = () => {
    setError(null);
    setReason("");
    onClose();
  };
  const submit = async () => {
    setBusy(true);
    setError(null);
    try {
      await run(reason.trim());
      close();
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} open={open} onClose={close}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <div className="text">{children}</div>
        {askReason || needsReason ? (
          <TextField
            label={reasonLabel}
            hint={
              needsReason ? "At least five letters, kept in the audit." : "Kept in the history."
            }
            required={needsReason}
            value={reason}
            onChange={setReason}
            maxLength={400}
          />
        ) : null}
        {error ? <Note tone="bad">{problemOf(error).detail}</Note> : null}
        <div className="formfoot">
          <span className="r">
            <button type="button" className="btn" onClick={close} data-autofocus>
              {command.startsWith("Cancel") ? "Back" : "Cancel"}
            </button>
            <button
              type="submit"
              className={dangerous ? "btn danger" : "btn pri"}
              disabled={busy || missing || !ready}
            >
              {command}
            </button>
          </span>
        </div>
      </form>
    </Dialog>
  );
}
