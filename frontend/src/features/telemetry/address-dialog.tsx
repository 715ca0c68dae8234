/** Fix where neighbours' agents reach a broker; what its agent says is only a proposal. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { keys } from "@/api/query-keys";
import { agentAddressSet, type Agent } from "@/api/telemetry";
import { Dialog, Note } from "@/components/ui/dialogs";
import { TextField } from "@/components/ui/fields";
import { addressFault } from "@/lib/address";
import { messageFor, problemOf } from "@/lib/problem";

export function AddressField({
  value,
  onChange,
  error,
}: {
  value: string;
  onChange: (value: string) => void;
  /** What the API said; what is no address at all is said here. */
  error: string | undefined;
}) {
  return (
    <TextField
      label="Address for neighbours"
      hint="Scheme, host and port, such as tls://rot-1.example.org:4222. Simulated brokers need none."
      value={value}
      onChange={onChange}
      error={addressFault(value.trim()) || error}
      maxLength={300}
    />
  );
}

export function AddressDialog({
  agent,
  open,
  onClose,
}: {
  agent: Agent;
  open: boolean;
  onClose: () => void;
}) {
  return (
    <Dialog title={`Address of ${agent.broker_name}`} open={open} onClose={onClose}>
      <AddressForm agent={agent} onClose={onClose} />
    </Dialog>
  );
}

function AddressForm({ agent, onClose }: { agent: Agent; onClose: () => void }) {
  const queries = useQueryClient();
  const [address, setAddress] = useState(agent.address || agent.said_address);
  const [reason, setReason] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const wanted = address.trim();
  const changes = wanted !== "" && wanted !== agent.address && addressFault(wanted) === "";
  const problem = error ? problemOf(error) : null;
  const fault = problem ? messageFor(problem.errors, "address") : undefined;
  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      await agentAddressSet(agent.id, wanted, reason.trim());
      await queries.invalidateQueries({ queryKey: keys.agents.list(agent.system) });
      onClose();
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (changes) void save();
      }}
    >
      <AddressField value={address} onChange={setAddress} error={fault} />
      <TextField
        label="Reason"
        hint="Kept in the history."
        required={false}
        value={reason}
        onChange={setReason}
        maxLength={500}
      />
      {changes ? (
        <Note>
          Neighbours connect to {wanted} at once
          {agent.address ? `, and leave ${agent.address}` : ""}. Reliable messages wait until they
          have.
        </Note>
      ) : null}
      {problem && !fault ? <Note tone="bad">{problem.detail}</Note> : null}
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn pri" disabled={busy || !changes}>
            Set address
          </button>
        </span>
      </div>
    </form>
  );
}
