/** One webhook: what it hears of, whether it takes it, its deliveries, and its secret's rotation. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate, useParams } from "react-router";

import { DeliveriesPanel } from "./deliveries-panel";
import { KEPT, WebhookDialog } from "./webhook-dialog";
import { systemsText, typesText, WebhookState } from "./words";

import { keys } from "@/api/query-keys";
import {
  eventKindsQuery,
  secretRotate,
  webhookDelete,
  webhookQuery,
  webhookTest,
  webhookUpdate,
  type Webhook,
} from "@/api/webhooks";
import { Command } from "@/components/ui/command";
import { ConfirmDialog, Dialog, Note } from "@/components/ui/dialogs";
import { ChoiceField, TextField } from "@/components/ui/fields";
import { PageHead } from "@/components/ui/page";
import { Panel, QueryBody } from "@/components/ui/panel";
import { SecretOnce } from "@/components/ui/secret-once";
import { tell, tellFailure } from "@/components/ui/toast";
import { to } from "@/lib/kinds";
import { countText } from "@/lib/numbers";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";
import { ageText, clockText, exactTime } from "@/lib/time";

export default function WebhookPage() {
  const { id = "" } = useParams();
  const query = useQuery(webhookQuery(id));
  if (query.data) return <WebhookView key={id} row={query.data} />;
  return (
    <>
      <PageHead title="Webhook" crumbs={[{ label: "Webhooks", to: to.webhooks }]} />
      <div className="main">
        <section className="panel">
          <QueryBody query={query} what="This webhook" rows={8}>
            {() => null}
          </QueryBody>
        </section>
      </div>
    </>
  );
}

/** A dialog and the webhook as it was when it was opened: what is confirmed is what was seen. */
interface Open {
  dialog: "edit" | "switch" | "delete" | "rotate";
  row: Webhook;
}

function WebhookView({ row }: { row: Webhook }) {
  const queries = useQueryClient();
  const kinds = useQuery(eventKindsQuery).data ?? [];
  const [open, setOpen] = useState<Open | null>(null);
  const [testing, setTesting] = useState(false);
  const show = (dialog: Open["dialog"]) => setOpen({ dialog, row });
  const close = () => setOpen(null);
  const may = (name: Webhook["allowed_commands"][number]) => row.allowed_commands.includes(name);
  const refresh = () => queries.invalidateQueries({ queryKey: keys.webhooks.all });
  const off = row.enabled === false;
  const test = async () => {
    setTesting(true);
    try {
      await webhookTest(row.id);
      await refresh();
      tell("A test event is on its way");
    } catch (error) {
      tellFailure("No test", error);
    } finally {
      setTesting(false);
    }
  };
  return (
    <>
      <PageHead
        title={row.name}
        crumbs={[{ label: "Webhooks", to: to.webhooks }]}
        state={<WebhookState row={row} large />}
        facts={[
          { key: "types", icon: "plan", text: typesText(row, kinds) },
          { key: "systems", icon: "server", text: `systems: ${systemsText(row)}` },
          {
            key: "answered",
            icon: "clock",
            text: row.answered_at
              ? `last delivery ${ageText(row.answered_at)} ago`
              : "nothing delivered yet",
          },
        ]}
        commands={
          <>
            {may("test") ? (
              <Command icon="play" disabled={testing} onClick={() => void test()}>
                {testing ? "Sending…" : "Send a test"}
              </Command>
            ) : null}
            {may("edit") ? (
              <>
                <Command icon="edit" onClick={() => show("edit")}>
                  Edit
                </Command>
                <Command icon={off ? "play" : "ban"} onClick={() => show("switch")}>
                  {off ? "Switch on" : "Switch off"}
                </Command>
              </>
            ) : null}
            {may("rotate") ? (
              <Command icon="refresh" onClick={() => show("rotate")}>
                New secret
              </Command>
            ) : null}
            {may("delete") ? (
              <Command icon="trash" danger onClick={() => show("delete")}>
                Delete
              </Command>
            ) : null}
          </>
        }
      />
      <div className="main">
        {off && row.disabled_because ? <Note tone="warn">{row.disabled_because}</Note> : null}
        {row.problem !== "" && !off ? (
          <Note tone="warn">
            {row.problem}{" "}
            {row.failing_since ? `Nothing has been taken for ${ageText(row.failing_since)}. ` : ""}
            {row.retry_at && new Date(row.retry_at) > new Date()
              ? `It is left alone until ${clockText(row.retry_at)} UTC. `
              : ""}
            {row.waiting > 0
              ? `${countText(row.waiting, "delivery waits", "deliveries wait")}; each is tried for three days.`
              : ""}
          </Note>
        ) : null}
        <div className="cols c-plan">
          <div className="stack">
            <DeliveriesPanel webhook={row.id} />
          </div>
          <div className="stack">
            <SettingsPanel row={row} />
          </div>
        </div>
      </div>
      {open ? <Opened open={open} onClose={close} onDone={refresh} /> : null}
    </>
  );
}

function Opened({
  open: { dialog, row },
  onClose,
  onDone,
}: {
  open: Open;
  onClose: () => void;
  onDone: () => Promise<void>;
}) {
  const navigate = useNavigate();
  const off = row.enabled === false;
  switch (dialog) {
    case "edit":
      return <WebhookDialog row={row} onClose={onClose} onSaved={() => undefined} />;
    case "rotate":
      return <RotateDialog row={row} onClose={onClose} onRotated={onDone} />;
    case "switch":
      return (
        <ConfirmDialog
          title={`${off ? "Switch on" : "Switch off"} ${row.name}`}
          command={off ? "Switch on" : "Switch off"}
          dangerous={!off}
          askReason
          open
          onClose={onClose}
          run={async (reason) => {
            await webhookUpdate(row, { enabled: off, reason });
            await onDone();
          }}
        >
          {off ? (
            <p>
              It hears of what happens from now on. What happened meanwhile is not sent; of what
              waits, only what is younger than three days.
            </p>
          ) : (
            <p>
              Nothing is sent any more, and <b>what happens meanwhile is never sent</b>.
            </p>
          )}
        </ConfirmDialog>
      );
    case "delete":
      return (
        <ConfirmDialog
          title={`Delete ${row.name}`}
          command="Delete"
          askReason
          open
          onClose={onClose}
          run={async (reason) => {
            await webhookDelete(row, reason);
            await onDone();
            tell(`Deleted ${row.name}`);
            void navigate(to.webhooks);
          }}
        >
          <p>
            Its secret no longer counts, and its deliveries are removed
            {row.waiting > 0
              ? `; ${countText(row.waiting, "delivery that waits is", "deliveries that wait are")} never sent`
              : ""}
            .
          </p>
        </ConfirmDialog>
      );
  }
}

function SettingsPanel({ row }: { row: Webhook }) {
  return (
    <Panel title="Settings">
      <dl className="kv">
        <dt>Address</dt>
        <dd className="mono" style={{ overflowWrap: "anywhere", whiteSpace: "normal" }}>
          {row.address}
        </dd>
        {row.description ? (
          <>
            <dt>Description</dt>
            <dd>{row.description}</dd>
          </>
        ) : null}
        <dt>Secret</dt>
        <dd>
          its SHA-256 begins with <span className="mono">{row.secret_fingerprint}</span>
        </dd>
        {row.previous_until && new Date(row.previous_until) > new Date() ? (
          <>
            <dt>Secret before</dt>
            <dd title={exactTime(row.previous_until)}>
              signs as well until {clockText(row.previous_until)} UTC
            </dd>
          </>
        ) : null}
      </dl>
    </Panel>
  );
}

const OVERLAPS = [
  { value: "24", label: "24 hours" },
  { value: "168", label: "7 days" },
  { value: "1", label: "1 hour" },
  { value: "0", label: "not at all: the present one is known to others" },
];

function RotateDialog({
  row,
  onClose,
  onRotated,
}: {
  row: Webhook;
  onClose: () => void;
  onRotated: () => Promise<void>;
}) {
  const [hours, setHours] = useState("24");
  const [reason, setReason] = useState("");
  const [secret, setSecret] = useState<string | null>(null);
  const { errors, busy, send, others } = useSubmission(["keep_previous_h", "reason"]);
  const rotate = () =>
    send(async () => {
      const made = await secretRotate(row, Number(hours), reason);
      setSecret(made.secret);
      await onRotated();
    });
  return (
    <Dialog title={`New secret for ${row.name}`} open onClose={onClose}>
      {secret === null ? (
        <form
          className="form"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            void rotate();
          }}
        >
          {others.length > 0 ? (
            <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
          ) : null}
          <ChoiceField
            label="Present secret signs for"
            options={OVERLAPS}
            value={hours}
            onChange={setHours}
            hint="Until then receivers with either of the two take every message."
            error={messageFor(errors, "keep_previous_h")}
          />
          <TextField
            label="Why"
            required={false}
            value={reason}
            onChange={setReason}
            error={messageFor(errors, "reason")}
          />
          <div className="formfoot">
            <span className="r">
              <button type="button" className="btn" onClick={onClose}>
                Discard
              </button>
              <Command primary type="submit" disabled={busy}>
                Make a new secret
              </Command>
            </span>
          </div>
        </form>
      ) : (
        <SecretOnce secret={secret} name="Secret" onClose={onClose} kept={KEPT}>
          {hours === "0"
            ? "Give it to the receiver now: the one before does not sign any more."
            : `Give it to the receiver within ${OVERLAPS.find((one) => one.value === hours)?.label}; until then the one before signs as well.`}
        </SecretOnce>
      )}
    </Dialog>
  );
}
