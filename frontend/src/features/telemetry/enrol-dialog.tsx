/** Give a broker's agent its credential; it is shown once. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { AddressField } from "./address-dialog";
import type { FleetRow } from "./fleet";

import { keys } from "@/api/query-keys";
import { agentEnrol } from "@/api/telemetry";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { ChoiceField } from "@/components/ui/fields";
import { SecretOnce } from "@/components/ui/secret-once";
import { addressFault } from "@/lib/address";
import { messageFor, problemOf } from "@/lib/problem";

export function EnrolDialog({
  system,
  rows,
  open,
  onClose,
}: {
  system: string;
  rows: readonly FleetRow[];
  open: boolean;
  onClose: () => void;
}) {
  return (
    <Dialog title="Enrol agent" open={open} onClose={onClose}>
      <EnrolForm system={system} rows={rows} onClose={onClose} />
    </Dialog>
  );
}

function EnrolForm({
  system,
  rows,
  onClose,
}: {
  system: string;
  rows: readonly FleetRow[];
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const first = rows.find((row) => row.agent === null) ?? rows[0];
  const [broker, setBroker] = useState(first?.broker.id ?? "");
  const [secret, setSecret] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const known = rows.find((row) => row.broker.id === broker)?.agent ?? null;
  const [typed, setTyped] = useState<string | null>(null);
  const address = typed ?? known?.address ?? "";
  const enrol = async () => {
    setBusy(true);
    setError(null);
    try {
      setSecret((await agentEnrol(broker, address.trim())).credential);
      await queries.invalidateQueries({ queryKey: keys.agents.list(system) });
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  };
  if (secret !== null) {
    return (
      <SecretOnce secret={secret} name="Credential" onClose={onClose}>
        Write it to a file that only the agent may read, and start{" "}
        <span className="mono">weir-agent run --credential-file …</span> beside the broker.
      </SecretOnce>
    );
  }
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        void enrol();
      }}
    >
      <ChoiceField
        label="Broker"
        value={broker}
        onChange={(id) => {
          setBroker(id);
          setTyped(null);
        }}
        options={rows.map((row) => ({ value: row.broker.id, label: row.broker.name }))}
      />
      <AddressField
        value={address}
        onChange={setTyped}
        error={error ? messageFor(problemOf(error).errors, "address") : undefined}
      />
      {known && known.state !== "revoked" ? (
        <Note tone="warn">
          This broker has a credential already (it begins with {known.prefix}). A new one replaces
          it: the agent that uses the old one is refused from now on.
        </Note>
      ) : null}
      {error && !messageFor(problemOf(error).errors, "address") ? (
        <Note tone="bad">{problemOf(error).detail}</Note>
      ) : null}
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <Command
            primary
            type="submit"
            disabled={busy || broker === "" || addressFault(address.trim()) !== ""}
          >
            Enrol agent
          </Command>
        </span>
      </div>
    </form>
  );
}
