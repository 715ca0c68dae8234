/** The change record that a plan has elsewhere: a fact of the plan, edited where it stands. */
import { useEffect, useRef, useState } from "react";

import { useChangeTicket, type PlanDetail } from "@/api/plans";
import { Command } from "@/components/ui/command";
import { Note } from "@/components/ui/dialogs";
import { TextField } from "@/components/ui/fields";
import { Icon } from "@/components/ui/icons";
import { tell } from "@/components/ui/toast";
import { isWebAddress } from "@/lib/address";
import { messageFor, problemOf } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

const LONGEST = 200;

export function ChangeTicket({ plan }: { plan: PlanDetail }) {
  const [editing, setEditing] = useState(false);
  const may = plan.allowed_commands.includes("edit");
  const button = useRef<HTMLButtonElement>(null);
  const wasEditing = useRef(false);
  useEffect(() => {
    if (wasEditing.current && !editing) button.current?.focus();
    wasEditing.current = editing;
  }, [editing]);
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
          ref={button}
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
  // What the person has read: the page goes on reading the plan, and a ticket that somebody else
  // has set meanwhile is not to be overwritten unseen.
  const [opened] = useState(plan);
  const [refused, setRefused] = useState(false);
  const change = useChangeTicket();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector("input")?.focus(), []);
  const { errors, busy, send, others } = useSubmission(["change_ticket"]);
  const save = () =>
    send(
      async () => {
        await change.mutateAsync({ seen: refused ? plan : opened, ticket: ticket.trim() });
        tell(`Saved the change ticket of ${plan.name}`);
        onClose();
      },
      (error) => {
        // From here on the page says what the ticket is now, and Save replaces that.
        if (problemOf(error).status === 412) setRefused(true);
        return false;
      },
    );
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
      {plan.change_ticket === opened.change_ticket ? null : (
        <Note tone="warn">
          {plan.change_ticket === "" ? "The ticket was taken away" : `It is ${plan.change_ticket}`}{" "}
          now. Save replaces that, Cancel keeps it.
        </Note>
      )}
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
