/** What becomes of a suggestion: its key's name, accept, reject, undo; each says first what it changes. */
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { changeOf, keyList, type Change } from "./words";

import {
  acceptSuggestion,
  rejectSuggestion,
  undoSuggestion,
  type Decided,
  type Suggestion,
} from "@/api/correlation";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { CheckField, TextField } from "@/components/ui/fields";
import { tell, tellFailure } from "@/components/ui/toast";
import { countText, fixed } from "@/lib/numbers";
import { complaintsOf, messageFor, problemOf, type FieldProblem } from "@/lib/problem";

const LONGEST_NAME = 200;

const loses = (publishers: number) => (publishers === 1 ? "loses" : "lose");
const keeps = (publishers: number) => (publishers === 1 ? "keeps" : "keep");

/** Gives the command, and makes fresh what it changes; what refuses it is what the page should show. */
function useDecision({ model_version }: Suggestion) {
  const queries = useQueryClient();
  // Who gives the same command again after an answer was lost gets that answer.
  const keyOf = useRef(new Map<string, string>());
  return async <Body extends { note: string }>(
    decide: (body: Body & Decided) => Promise<Suggestion>,
    wanted: Body,
    done: string,
  ) => {
    const body = { ...wanted, model_version };
    const text = JSON.stringify(body);
    const once = keyOf.current.get(text) ?? crypto.randomUUID();
    keyOf.current.set(text, once);
    try {
      const { effect } = await decide({ ...body, once });
      keyOf.current.clear();
      tell(done, effect);
    } catch (error) {
      const { code } = problemOf(error);
      // Fresh answers take the dialog away with what it says.
      if (code === "decided_already") tellFailure("Nothing was changed", error);
      throw error;
    } finally {
      await Promise.all(
        [keys.correlation.all, keys.catalog.all, keys.systems.all].map((queryKey) =>
          queries.invalidateQueries({ queryKey }),
        ),
      );
    }
  };
}

function WhatChanges({
  suggestion,
  name,
  change,
}: {
  suggestion: Suggestion;
  name: string;
  change: Change;
}) {
  const { gain, lost, kept, already } = change;
  const strangers = suggestion.size - suggestion.in_catalogue;
  return (
    <div className="dialogtext">
      <p>
        <b>{countText(gain, "publisher gets", "publishers get")}</b> the key <b>{name}</b>, which is
        made where the system has none of that name.
      </p>
      {lost.length > 0 ? <p>Of these, {keyList(lost, loses)}.</p> : null}
      {kept.length > 0 ? <p>Others stay as they are: {keyList(kept, keeps)}.</p> : null}
      {already > 0 ? (
        <p>
          {countText(already, "publisher carries", "publishers carry")} {name} already.
        </p>
      ) : null}
      {strangers > 0 ? (
        <p>
          {countText(strangers, "member is", "members are")} not in the catalogue and{" "}
          {strangers === 1 ? "gets" : "get"} no key.
        </p>
      ) : null}
      <p>
        The model advances by one version. Publishers stay at their brokers until the topic is
        placed again; <i>Undo</i> takes the keys back.
      </p>
    </div>
  );
}

/** Name and commands of a suggestion that nobody has decided. */
export function Decide({ suggestion }: { suggestion: Suggestion }) {
  const decide = useDecision(suggestion);
  // Until somebody types, it is the name that is free now.
  const [typed, setTyped] = useState<string | null>(null);
  const [replace, setReplace] = useState(false);
  const [asking, setAsking] = useState<"accept" | "reject" | null>(null);
  const [errors, setErrors] = useState<FieldProblem[]>([]);
  const { id, number, allowed_commands: allowed, keys_now: now, same_as_key: same } = suggestion;
  const mayAccept = allowed.includes("accept");
  const name = (typed ?? suggestion.name).trim();
  const change = changeOf(suggestion, name, replace);
  const others = now
    .filter((key) => key.name !== name)
    .reduce((sum, { publishers }) => sum + publishers, 0);
  const missing = name === "" ? "Give the key a name." : undefined;
  const close = () => setAsking(null);
  const accept = async (note: string) => {
    setErrors([]);
    try {
      await decide(
        (body: Decided & { name: string; replace: boolean }) => acceptSuggestion(id, body),
        { name, replace, note },
        `Accepted suggestion ${number}`,
      );
    } catch (error) {
      setErrors(complaintsOf(error));
      throw error;
    }
  };
  return (
    <>
      {mayAccept && suggestion.in_catalogue > 0 ? (
        <>
          <TextField
            label="Name of the key"
            hint="A key of that name is taken where the system has one."
            value={typed ?? suggestion.name}
            onChange={(text) => {
              setTyped(text);
              setErrors([]);
            }}
            maxLength={LONGEST_NAME}
            error={missing ?? messageFor(errors, "name")}
          />
          {others > 0 ? (
            <CheckField
              label={`Replace keys of ${fixed(others)}`}
              hint={
                same
                  ? undefined
                  : "Else only members without a key get one, and the rest keep theirs."
              }
              value={replace}
              onChange={setReplace}
            />
          ) : null}
        </>
      ) : null}
      <div className="commands">
        {mayAccept ? (
          <Command
            icon="check"
            onClick={() => setAsking("accept")}
            disabled={missing !== undefined || change.gain === 0}
            reason={missing ?? "Nobody would get another key."}
          >
            Accept
          </Command>
        ) : null}
        {allowed.includes("reject") ? (
          <Command icon="x" onClick={() => setAsking("reject")}>
            Reject
          </Command>
        ) : null}
      </div>
      <ConfirmDialog
        title={`Accept suggestion ${number}`}
        command="Accept"
        dangerous={false}
        askReason
        reasonLabel="Note"
        open={asking === "accept"}
        onClose={close}
        run={accept}
      >
        <WhatChanges suggestion={suggestion} name={name} change={change} />
      </ConfirmDialog>
      <ConfirmDialog
        title={`Reject suggestion ${number}`}
        command="Reject"
        dangerous={false}
        askReason
        reasonLabel="Note"
        open={asking === "reject"}
        onClose={close}
        run={(note) =>
          decide(
            (body: Decided) => rejectSuggestion(id, body),
            { note },
            `Rejected suggestion ${number}`,
          )
        }
      >
        <p>
          No key changes. Where a later analysis finds nearly the same publishers, it says that this
          was rejected, by whom and with which note.
        </p>
      </ConfirmDialog>
    </>
  );
}

/** Takes a decision back. */
export function UndoCommand({ suggestion }: { suggestion: Suggestion }) {
  const decide = useDecision(suggestion);
  const [asking, setAsking] = useState(false);
  const { id, number, state, key_name: key, undo, allowed_commands: allowed } = suggestion;
  if (!allowed.includes("undo")) return null;
  return (
    <>
      <Command icon="back" onClick={() => setAsking(true)}>
        Undo
      </Command>
      <ConfirmDialog
        title={`Undo the decision on suggestion ${number}`}
        command="Undo"
        dangerous={state === "accepted"}
        askReason
        reasonLabel="Note"
        open={asking}
        onClose={() => setAsking(false)}
        run={(note) =>
          decide(
            (body: Decided) => undoSuggestion(id, body),
            { note },
            `Suggestion ${number} is open again`,
          )
        }
      >
        {undo !== null ? (
          <p>
            <b>{countText(undo.publishers, "publisher loses", "publishers lose")}</b> {key} again
            {undo.publishers > 0
              ? `: ${fixed(undo.get_another)} get back another key, ${fixed(undo.publishers - undo.get_another)} have none then`
              : ""}
            .
            {undo.left_alone > 0
              ? ` ${countText(undo.left_alone, "other")} who got it carry it no more and stay as they are.`
              : ""}
            {undo.key_goes ? ` ${key} is deleted: nobody else carries it.` : ""} The suggestion is
            open again.
          </p>
        ) : (
          <p>No key changes. The suggestion is open again.</p>
        )}
      </ConfirmDialog>
    </>
  );
}
