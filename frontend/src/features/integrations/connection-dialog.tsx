/** The form of a connection: the product's own settings, its credential by reference, its systems. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { connectionSave, productsQuery, type Connection } from "@/api/connections";
import { keys } from "@/api/query-keys";
import { useSystems } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { CheckField, ChoiceField, PickManyField, TextField } from "@/components/ui/fields";
import { QueryBody } from "@/components/ui/panel";
import { ParameterFields } from "@/components/ui/parameter-fields";
import { tell } from "@/components/ui/toast";
import { parameterDraft, readParameters, type ParameterDraft } from "@/lib/parameters";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

import type { ConnectionProduct } from "@/api/connections";

const DRAWN = ["name", "product", "credential", "systems", "approval_needed", "window_from_change"];

export function ConnectionDialog({
  row,
  onClose,
  onSaved,
}: {
  row: Connection | null;
  onClose: () => void;
  onSaved: (row: Connection) => void;
}) {
  const products = useQuery(productsQuery);
  return (
    <Dialog title={row ? `Connection ${row.name}` : "Add connection"} open onClose={onClose} wide>
      <QueryBody query={products} what="Products">
        {(all) => <ConnectionForm row={row} products={all} onClose={onClose} onSaved={onSaved} />}
      </QueryBody>
    </Dialog>
  );
}

function ConnectionForm({
  row,
  products,
  onClose,
  onSaved,
}: {
  row: Connection | null;
  products: readonly ConnectionProduct[];
  onClose: () => void;
  onSaved: (row: Connection) => void;
}) {
  const queries = useQueryClient();
  const systems = useSystems().data?.results ?? [];
  const [name, setName] = useState(row?.name ?? "");
  const [kind, setKind] = useState(row?.product ?? products[0]?.name);
  const [credential, setCredential] = useState(row?.credential ?? "");
  const [chosen, setChosen] = useState<string[]>(row?.systems ? [...row.systems] : []);
  const [approval, setApproval] = useState(row?.approval_needed ?? true);
  const [fromChange, setFromChange] = useState(row?.window_from_change ?? false);
  const product = products.find((one) => one.name === kind);
  const settings = product?.settings ?? [];
  const [drafts, setDrafts] = useState<Record<string, ParameterDraft>>(() =>
    Object.fromEntries(
      products.map((one) => [
        one.name,
        parameterDraft(one.settings, one.name === row?.product ? row.settings : {}),
      ]),
    ),
  );
  const draft = drafts[kind ?? ""] ?? {};
  const { errors, setErrors, busy, send, others } = useSubmission([
    ...DRAWN,
    ...settings.map((one) => `settings.${one.name}`),
  ]);
  const save = async () => {
    if (kind === undefined) return;
    const read = readParameters(settings, draft, "settings");
    if (read.errors.length > 0) {
      setErrors(read.errors);
      return;
    }
    await send(async () => {
      const saved = await connectionSave(row, {
        name,
        product: kind,
        settings: read.values,
        credential,
        systems: chosen,
        approval_needed: approval,
        window_from_change: fromChange,
      });
      await queries.invalidateQueries({ queryKey: keys.connections.all });
      void queries.invalidateQueries({ queryKey: keys.plans.all });
      tell(row ? `Saved ${saved.name}` : `Added ${saved.name}`);
      onClose();
      onSaved(saved);
    });
  };
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
        <ChoiceField
          label="Product"
          options={products.map((one) => ({ value: one.name, label: one.title }))}
          value={kind ?? ""}
          disabled={row !== null}
          hint={row ? "It stays; add another connection for another product." : undefined}
          onChange={(next) => setKind(next as ConnectionProduct["name"])}
          error={messageFor(errors, "product")}
        />
      </div>
      <ParameterFields
        parameters={settings}
        draft={draft}
        onChange={(next) => setDrafts({ ...drafts, [kind ?? ""]: next })}
        errors={errors}
        path="settings"
      />
      <TextField
        label="Credential"
        required={false}
        hint="Where it is, never itself: env:WEIR_CREDENTIAL_NAME, a variable of the workers, or file:/path."
        value={credential}
        onChange={setCredential}
        error={messageFor(errors, "credential")}
      />
      <PickManyField
        label="Systems"
        required={false}
        hint="Their plans open a change here when they are sent for review."
        options={systems.map((system) => ({ value: system.id, label: system.name }))}
        value={chosen}
        onChange={setChosen}
        error={messageFor(errors, "systems")}
      />
      <CheckField
        label="Execute only what is approved there"
        hint="Beside the approvals that the policy asks for, never instead of them."
        value={approval}
        onChange={setApproval}
        error={messageFor(errors, "approval_needed")}
      />
      <CheckField
        label="Execute only in the window of the change"
        hint="Between its planned start and end, as people set them there."
        value={fromChange}
        onChange={setFromChange}
        error={messageFor(errors, "window_from_change")}
      />
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Discard
          </button>
          <Command primary type="submit" disabled={busy}>
            Save connection
          </Command>
        </span>
      </div>
    </form>
  );
}
