/** From what brokers measured to the next placement: the button, and what it will freeze. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { mayPlaceAgain } from "./outcome";
import { longText } from "./verdicts";

import { placeAgain, type PlacementDetail, type Rounds } from "@/api/placements";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { TextField } from "@/components/ui/fields";
import { to } from "@/lib/kinds";
import { countText } from "@/lib/numbers";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

const LONGEST_NOTE = 2000;

/** Whether nothing has to be done: every broker in force keeps the objective. */
const allKeep = ({ results }: Rounds) =>
  results.find((round) => round.is_in_force)?.measured?.meets === true;

export function PlaceAgain({ placement, rounds }: { placement: PlacementDetail; rounds: Rounds }) {
  const [open, setOpen] = useState(false);
  const { can_place_again: can, because } = rounds;
  if (!mayPlaceAgain(placement)) return null;
  return (
    <>
      <Command
        icon="refresh"
        primary={can && !allKeep(rounds)}
        small
        disabled={!can}
        reason={because}
        onClick={() => setOpen(true)}
      >
        Place again by what was measured
      </Command>
      <Dialog
        title={`Place ${placement.topic_name} again`}
        open={open}
        onClose={() => setOpen(false)}
      >
        <AgainForm placement={placement} rounds={rounds} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

/** What is frozen of the round in force, and of whom too little is measured. */
function WhatIsFrozen({ rounds }: { rounds: Rounds }) {
  const measured = rounds.results.find((round) => round.is_in_force)?.measured ?? null;
  if (measured === null) return null;
  const { brokers } = measured;
  const messages = brokers.reduce((sum, one) => sum + one.messages, 0);
  const few = brokers.filter(({ high_s: high }) => high === null);
  const shortest = Math.min(...brokers.map(({ seconds }) => seconds));
  return (
    <>
      <p>
        Measured: {countText(messages, "message")} at {countText(brokers.length, "broker")}
        {brokers.length > 1 ? ", at each" : ""} for {longText(shortest)}
        {brokers.length > 1 ? " or longer" : ""}.
      </p>
      {few.length > 0 ? (
        <Note tone="warn">
          {few.map(({ broker, seconds }) => `${broker} for ${longText(seconds)}`).join(", ")}: too
          little to bound what 99 % of the messages take. What they process is not fitted; measure
          longer to have it fitted, too.
        </Note>
      ) : null}
      {measured.meets === true ? (
        <Note tone="good">Every broker keeps the objective: no further round is needed.</Note>
      ) : null}
    </>
  );
}

function AgainForm({
  placement,
  rounds,
  onClose,
}: {
  placement: PlacementDetail;
  rounds: Rounds;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [note, setNote] = useState("");
  const { errors, busy, send, others } = useSubmission(["note"]);
  const start = () =>
    send(
      async () => {
        const run = await placeAgain(placement.id, { note: note.trim() });
        await queries.invalidateQueries({ queryKey: keys.runs.all });
        await navigate(to.run(run.id));
      },
      () => {
        // Whatever refuses it is what the panel should show by now.
        void queries.invalidateQueries({ queryKey: keys.placements.rounds(placement.id) });
        return false;
      },
    );
  return (
    <form
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <p className="muted">
        Freezes the model of {placement.system_name} with what brokers measured under{" "}
        {placement.name}, fits how many messages each of them processes, and starts a run on that.
        Method, parameters, drained brokers and seed are those of {placement.name}. The result is a
        proposal; no publisher moves.
      </p>
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      <WhatIsFrozen rounds={rounds} />
      <TextField
        label="Note"
        required={false}
        hint="Kept with the placement."
        value={note}
        onChange={setNote}
        maxLength={LONGEST_NOTE}
        error={messageFor(errors, "note")}
      />
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Close
          </button>
          <Command primary icon="play" type="submit" disabled={busy} focus>
            Start run
          </Command>
        </span>
      </div>
    </form>
  );
}
