/** The form of a channel: its webhook by reference, of what and of which systems it hears, when. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { CHANNEL_KINDS, SHAPES } from "./channel-words";
import { browserZone, CHOICE_FIELDS, choiceBody, choiceDraft, ChoiceFields } from "./choice-fields";

import type { InboxItem } from "@/api/inbox";
import { channelCreate, channelUpdate, type Channel } from "@/api/notifications";
import { keys } from "@/api/query-keys";
import { useSystems } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { CheckField, ChoiceField, PickManyField, TextField } from "@/components/ui/fields";
import { QueryBody } from "@/components/ui/panel";
import { tell } from "@/components/ui/toast";
import { below, messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

const DRAWN = ["name", "shape", "credential", "all_systems", "enabled", ...CHOICE_FIELDS];

/** As the server has it where nothing is chosen: all but what somebody has just done by hand. */
const newChoice = () => ({
  kinds: (Object.keys(CHANNEL_KINDS) as InboxItem["kind"][]).filter(
    (kind) => kind !== "execution_paused",
  ),
  timezone: browserZone(),
});

export function ChannelDialog({ row, onClose }: { row: Channel | null; onClose: () => void }) {
  return (
    <Dialog title={row ? `Channel ${row.name}` : "Add channel"} open onClose={onClose} wide>
      <ChannelForm row={row} onClose={onClose} />
    </Dialog>
  );
}

function ChannelForm({ row, onClose }: { row: Channel | null; onClose: () => void }) {
  const queries = useQueryClient();
  const systems = useSystems();
  const [name, setName] = useState(row?.name ?? "");
  const [shape, setShape] = useState<Channel["shape"]>(row?.shape ?? "slack");
  const [credential, setCredential] = useState(row?.credential ?? "");
  const [everywhere, setEverywhere] = useState(row?.all_systems ?? true);
  const [chosen, setChosen] = useState<string[]>(row?.systems ? [...row.systems] : []);
  const [choice, setChoice] = useState(() =>
    choiceDraft(row ? { ...newChoice(), ...row } : newChoice()),
  );
  const [enabled, setEnabled] = useState(row?.enabled ?? true);
  // A field that is not drawn shows nothing: its problem stands at the head.
  const { errors, busy, send, others } = useSubmission([
    ...DRAWN,
    ...(everywhere ? [] : ["systems"]),
  ]);
  // Of a channel whose systems were all deleted the rest may be edited as it is.
  const scopeDiffers =
    everywhere !== row?.all_systems ||
    (!everywhere && [...chosen].sort().join() !== [...(row.systems ?? [])].sort().join());
  const save = () =>
    send(async () => {
      const body = {
        name,
        shape,
        credential,
        ...(scopeDiffers ? { all_systems: everywhere, systems: everywhere ? [] : chosen } : {}),
        ...choiceBody(choice),
        enabled,
      };
      const saved = row ? await channelUpdate(row, body) : await channelCreate(body);
      await queries.invalidateQueries({ queryKey: keys.channels.all });
      tell(row ? `Saved ${saved.name}` : `Added ${saved.name}`);
      onClose();
    });
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
          maxLength={100}
          value={name}
          onChange={setName}
          error={messageFor(errors, "name")}
        />
        <ChoiceField
          label="Shape"
          options={Object.entries(SHAPES).map(([value, label]) => ({ value, label }))}
          value={shape}
          onChange={(next) => setShape(next as Channel["shape"])}
          error={messageFor(errors, "shape")}
        />
      </div>
      <TextField
        label="Credential"
        hint={
          <>
            Where the address of the incoming webhook is, never itself: env:WEIR_CREDENTIAL_NAME, a
            variable of the workers, or file:/path. The address is a secret and is not stored.
          </>
        }
        value={credential}
        onChange={setCredential}
        error={messageFor(errors, "credential")}
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
              error={below(errors, "systems")[0]?.message}
            />
          )}
        </QueryBody>
      )}
      <ChoiceFields
        draft={choice}
        onChange={setChoice}
        errors={errors}
        words={CHANNEL_KINDS}
        kindsHint={row ? undefined : "It is first told of all of these that stand now."}
      />
      <CheckField
        label="Enabled"
        hint="While it is not, nothing is sent; what still stands once it is again is sent then."
        value={enabled}
        onChange={setEnabled}
        error={messageFor(errors, "enabled")}
      />
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Discard
          </button>
          <Command primary type="submit" disabled={busy}>
            {row ? "Save channel" : "Add channel"}
          </Command>
        </span>
      </div>
    </form>
  );
}
