/** The change record that a plan has elsewhere: a fact of the plan, edited where it stands. */
import { useEffect, useRef, useState } from "react";

import { useChangeTicket, type PlanDetail } from "@/api/plans";
import { Command } from "@/components/ui/command";
import { Note } from "@/components/ui/dialogs";
import { TextField } from "@/components/ui/fields";
import { Icon } from "@/components/ui/icons";
import { tell } from "@/components/ui/toast";
import { isWebAddress } from "@/lib/address";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

const LONGEST = 200;

export function ChangeTicket({ plan }: { plan: PlanDetail }) {
  const [editing, setEditing] = useState(false);
  const may = plan.allowed_commands.includes("edit");
  if (editing && may) return <TicketForm plan={plan} onClose={() => setEditing(false)} />;
  const ticket = plan.change_ticket;
  if (ticket === "" && !may) return null;
  return (
    <span>
      <Icon name="ticket" small />
      <span>
        {ticket === "" ? "no change ticket" : "change ticket "}
        {isWebAddress(ticket) ? (
          <a href={ticket} target="_blank" rel="noreferrer">
            {ticket}
          </a>
        ) : (
          ticket
        )}
      </span>
      {may ? (
        <button
          type="button"
          className="iconbtn"
          aria-label="Edit the change ticket"
          onClick={() => setEditing(true)}
        >
          <Icon name="edit" small />
        </button>
      ) : null}
    </span>
  );
}

function TicketForm({ plan, onClose }: { plan: PlanDetail; onClose: () => void }) {
  const [ticket, setTicket] = useState(plan.change_ticket);
  const change = useChangeTicket(plan);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector("input")?.focus(), []);
  const { errors, busy, send, others } = useSubmission(["change_ticket"]);
  const save = () =>
    send(async () => {
      await change.mutateAsync(ticket.trim());
      tell(`Saved the change ticket of ${plan.name}`);
      onClose();
    });
  return (
    <form
      ref={form}
      className="form ticket"
      aria-label="Change ticket"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      <TextField
        label="Change ticket"
        hint="The number of the change elsewhere, or its address."
        required={false}
        maxLength={LONGEST}
        value={ticket}
        onChange={setTicket}
        error={messageFor(errors, "change_ticket")}
      />
      <span className="cmds">
        <button type="button" className="btn" onClick={onClose}>
          Cancel
        </button>
        <Command primary icon="check" type="submit" disabled={busy}>
          Save
        </Command>
      </span>
    </form>
  );
}
