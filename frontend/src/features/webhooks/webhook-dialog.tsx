/** The form of a webhook; a new one shows its secret before it is left. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { EVERYTHING, oneText } from "./words";

import { keys } from "@/api/query-keys";
import { useSystems } from "@/api/systems";
import {
  eventKindsQuery,
  webhookCreate,
  webhookUpdate,
  type EventKind,
  type Webhook,
} from "@/api/webhooks";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { CheckField, PickManyField, TextField } from "@/components/ui/fields";
import { QueryBody } from "@/components/ui/panel";
import { SecretOnce } from "@/components/ui/secret-once";
import { tell } from "@/components/ui/toast";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

export const KEPT = "It is not shown again; a new one can be made at any time.";

export function WebhookDialog({
  row,
  onClose,
  onSaved,
}: {
  row: Webhook | null;
  onClose: () => void;
  onSaved: (row: Webhook) => void;
}) {
  const kinds = useQuery(eventKindsQuery);
  const [made, setMade] = useState<{ row: Webhook; secret: string } | null>(null);
  const leave = () => {
    onClose();
    if (made) onSaved(made.row);
  };
  return (
    <Dialog title={row ? `Webhook ${row.name}` : "Add webhook"} open onClose={leave} wide>
      {made ? (
        <SecretOnce secret={made.secret} name="Secret" onClose={leave} kept={KEPT}>
          Receivers verify the signature of each message with it, as Standard Webhooks says.
        </SecretOnce>
      ) : (
        <QueryBody query={kinds} what="Kinds of events">
          {(all) => (
            <WebhookForm
              row={row}
              kinds={all}
              onClose={onClose}
              onSaved={(saved, secret) => {
                if (secret === null) {
                  onClose();
                  onSaved(saved);
                } else {
                  setMade({ row: saved, secret });
                }
              }}
            />
          )}
        </QueryBody>
      )}
    </Dialog>
  );
}

function optionsOf(kinds: readonly EventKind[], chosen: readonly string[]) {
  const known = [
    { value: EVERYTHING, label: "Everything but accounts, tokens and sign-ins" },
    ...kinds.flatMap((kind) => [
      { value: kind.pattern, label: kind.title },
      ...kind.types.map((type) => ({ value: type, label: oneText(kind, type) })),
    ]),
  ];
  const others = chosen.filter((one) => known.every((option) => option.value !== one));
  return [...known, ...others.map((one) => ({ value: one, label: one }))];
}

function WebhookForm({
  row,
  kinds,
  onClose,
  onSaved,
}: {
  row: Webhook | null;
  kinds: readonly EventKind[];
  onClose: () => void;
  onSaved: (row: Webhook, secret: string | null) => void;
}) {
  const queries = useQueryClient();
  const systems = useSystems();
  const [name, setName] = useState(row?.name ?? "");
  const [description, setDescription] = useState(row?.description ?? "");
  const [address, setAddress] = useState(row?.address ?? "");
  const [types, setTypes] = useState<string[]>(row ? [...row.types] : [EVERYTHING]);
  const [everywhere, setEverywhere] = useState(row?.all_systems ?? true);
  const [chosen, setChosen] = useState<string[]>(row?.systems ? [...row.systems] : []);
  const { errors, busy, send, others } = useSubmission([
    ...["name", "description", "address", "types", "all_systems", "systems"],
    ...types.map((_, index) => `types[${index}]`),
  ]);
  const save = () =>
    send(async () => {
      const body = {
        name,
        description,
        address,
        types,
        all_systems: everywhere,
        systems: everywhere ? [] : chosen,
      };
      const made = row ? null : await webhookCreate(body);
      const saved = row ? await webhookUpdate(row, body) : made;
      await queries.invalidateQueries({ queryKey: keys.webhooks.all });
      if (saved === null) return;
      tell(row ? `Saved ${saved.name}` : `Added ${saved.name}`);
      onSaved(saved, made?.secret ?? null);
    });
  const typeError =
    messageFor(errors, "types") ??
    types.map((_, index) => messageFor(errors, `types[${index}]`)).find(Boolean);
  return (
    <form
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      <div className="grid2">
        <TextField
          label="Name"
          focus
          value={name}
          onChange={setName}
          error={messageFor(errors, "name")}
        />
        <TextField
          label="Description"
          required={false}
          value={description}
          onChange={setDescription}
          error={messageFor(errors, "description")}
        />
      </div>
      <TextField
        label="Address"
        hint="Events are posted to it. Only administrators see more of it than its server."
        value={address}
        onChange={setAddress}
        error={messageFor(errors, "address")}
      />
      <PickManyField
        label="Hears of"
        options={optionsOf(kinds, types)}
        value={types}
        onChange={setTypes}
        error={typeError}
      />
      <CheckField
        label="All systems"
        hint="Also what belongs to no system, and systems that are added later."
        value={everywhere}
        onChange={setEverywhere}
        error={messageFor(errors, "all_systems")}
      />
      {everywhere ? null : (
        <QueryBody query={systems} what="Systems" rows={2}>
          {({ results }) => (
            <PickManyField
              label="Systems"
              options={results.map((system) => ({ value: system.id, label: system.name }))}
              value={chosen}
              onChange={setChosen}
              error={messageFor(errors, "systems")}
            />
          )}
        </QueryBody>
      )}
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Discard
          </button>
          <Command primary type="submit" disabled={busy}>
            Save webhook
          </Command>
        </span>
      </div>
    </form>
  );
}
