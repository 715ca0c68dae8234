/** Channels of chats: of what each hears and when, whether it takes it, and how to test it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { ChannelDialog } from "./channel-dialog";
import {
  ChannelDetails,
  ChannelState,
  kindsText,
  RhythmText,
  SHAPES,
  systemsText,
} from "./channel-words";

import { channelDelete, channelsQuery, channelTest, type Channel } from "@/api/notifications";
import { keys } from "@/api/query-keys";
import { useMay } from "@/api/session";
import { Command } from "@/components/ui/command";
import type { Column } from "@/components/ui/data-table";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { ListPanel } from "@/components/ui/list-panel";
import { pageAsked, useListAddress } from "@/components/ui/list-tools";
import { tell, tellFailure } from "@/components/ui/toast";
import { countText } from "@/lib/numbers";
import { ageText, clockText, exactTime } from "@/lib/time";

/** A test is posted at once: what takes longer than this has another reason. */
const TEST_MS = 60_000;

/** A test that was asked for, with the channel as it was before it was posted. */
interface Test {
  before: Channel;
  /** After a minute what moves may come of something else. */
  late: boolean;
}

/** Whatever moves after a test was asked for is what came of it. */
function outcomeOf({ before }: Test, row: Channel): "waits" | "sent" | "failed" {
  if (row.last_sent_at !== before.last_sent_at) return "sent";
  const tried =
    row.problem !== before.problem ||
    row.retry_at !== before.retry_at ||
    row.failing_since !== before.failing_since ||
    row.waiting < before.waiting;
  return tried && row.problem !== "" ? "failed" : "waits";
}

export function ChannelsPanel() {
  const address = useListAddress([], "name");
  const [tests, setTests] = useState<Readonly<Record<string, Test>>>({});
  const [opened, setOpened] = useState<string | null>(null);
  const [editing, setEditing] = useState<Channel | "new" | null>(null);
  const [deleting, setDeleting] = useState<Channel | null>(null);
  const [sending, setSending] = useState<string | null>(null);
  const testOf = (row: Channel) => {
    const test = tests[row.id];
    // Of a channel that was edited since, a test says nothing.
    if (test?.before.version !== row.version || row.enabled === false) return undefined;
    return test.late && outcomeOf(test, row) !== "waits" ? undefined : test;
  };
  const isTesting = (row: Channel) => {
    const test = testOf(row);
    return test !== undefined && !test.late && outcomeOf(test, row) === "waits";
  };
  const rows = useQuery(channelsQuery(pageAsked(address), isTesting));
  const may = useMay("manage_channels");
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: keys.channels.all });
  const sendTest = async (row: Channel) => {
    setSending(row.id);
    try {
      const before = await channelTest(row.id);
      setTests((old) => ({ ...old, [row.id]: { before, late: false } }));
      setTimeout(() => {
        setTests((old) =>
          old[row.id]?.before === before ? { ...old, [row.id]: { before, late: true } } : old,
        );
      }, TEST_MS);
    } catch (error) {
      tellFailure(`No test of ${row.name}`, error);
    } finally {
      setSending(null);
      await refresh();
    }
  };
  const columns: Column<Channel>[] = [
    {
      key: "name",
      title: "Channel",
      orderBy: "name",
      cell: (row) => <span className="ent">{row.name}</span>,
    },
    { key: "shape", title: "Chat", cell: (row) => SHAPES[row.shape] },
    {
      key: "kinds",
      title: "Of what",
      cell: (row) => (
        <button
          type="button"
          className="link"
          aria-expanded={opened === row.id}
          onClick={() => setOpened(opened === row.id ? null : row.id)}
        >
          {kindsText(row)}
        </button>
      ),
    },
    {
      key: "systems",
      title: "Systems",
      cell: (row) => <span className="channelsystems">{systemsText(row)}</span>,
    },
    { key: "when", title: "When", cell: (row) => <RhythmText row={row} /> },
    {
      key: "sent",
      title: "Last sent",
      number: true,
      cell: (row) => (
        <>
          <span className="faint" title={exactTime(row.last_sent_at)}>
            {row.last_sent_at === null ? "never" : `${ageText(row.last_sent_at)} ago`}
          </span>
          {row.waiting > 0 ? (
            <span className="channelsub">{countText(row.waiting, "waits", "wait")}</span>
          ) : null}
        </>
      ),
    },
    {
      key: "state",
      title: "State",
      cell: (row) => <ChannelState row={row} testing={isTesting(row)} />,
    },
    {
      key: "commands",
      title: "Commands",
      silent: true,
      number: true,
      cell: (row) => (
        <span className="channelcommands">
          {row.allowed_commands.includes("test") ? (
            <Command
              small
              disabled={sending === row.id || isTesting(row)}
              reason="A test is on its way."
              onClick={() => void sendTest(row)}
            >
              Send test
            </Command>
          ) : null}
          {row.allowed_commands.includes("edit") ? (
            <Command small onClick={() => setEditing(row)}>
              Edit
            </Command>
          ) : null}
          {row.allowed_commands.includes("delete") ? (
            <Command small danger onClick={() => setDeleting(row)}>
              Delete
            </Command>
          ) : null}
        </span>
      ),
    },
  ];
  const add = (
    <Command small icon="plus" onClick={() => setEditing("new")}>
      Add channel
    </Command>
  );
  return (
    <>
      <ListPanel
        title="Chat channels"
        query={rows}
        address={address}
        search="Find channels"
        right={may ? add : undefined}
        columns={columns}
        empty={
          <>
            A channel of Slack or Teams hears of what waits for somebody and of what went wrong,
            with links to the pages. Whoever runs this installation makes an incoming webhook in the
            chat and gives its address to the workers, as{" "}
            <span className="mono">WEIR_CREDENTIAL_OPS_CHAT</span> for instance (docs/operations.md,
            Channels of chats). An administrator then adds the channel with the credential{" "}
            <span className="mono">env:WEIR_CREDENTIAL_OPS_CHAT</span>.
          </>
        }
        onOpen={(row) => setOpened(opened === row.id ? null : row.id)}
        under={(row) => {
          const details = row.id === opened ? <ChannelDetails row={row} /> : null;
          const test = testOf(row);
          const answer = test ? <Answer test={test} row={row} /> : null;
          const problem = answer === null ? problemText(row) : "";
          if (details === null && answer === null && problem === "") return null;
          return (
            <>
              {problem === "" ? null : <p className="muted">{problem}</p>}
              {answer}
              {details}
            </>
          );
        }}
        tall
      />
      {editing === null ? null : (
        <ChannelDialog row={editing === "new" ? null : editing} onClose={() => setEditing(null)} />
      )}
      {deleting === null ? null : (
        <DeleteDialog row={deleting} onClose={() => setDeleting(null)} onDeleted={refresh} />
      )}
    </>
  );
}

/** Why it takes nothing, since when and until when it is left alone; empty: it takes it. */
function problemText(row: Channel): string {
  if (row.enabled === false || row.problem === "") return "";
  return [
    // It may end with what the chat said, in its own words.
    /[.!?]$/.test(row.problem) ? row.problem : `${row.problem}.`,
    row.failing_since ? `It has taken nothing for ${ageText(row.failing_since)}.` : "",
    row.retry_at && new Date(row.retry_at) > new Date()
      ? `It is left alone until ${clockText(row.retry_at)} UTC, but for tests.`
      : "",
  ]
    .filter(Boolean)
    .join(" ");
}

/** What came of a test; read out when it comes. */
function Answer({ test, row }: { test: Test; row: Channel }) {
  const outcome = outcomeOf(test, row);
  return (
    <p className="muted" role="status">
      {outcome === "sent" && row.shape === "slack" ? "The chat took the test." : null}
      {outcome === "sent" && row.shape === "teams"
        ? "Teams accepted the test; look whether the card appears in the channel."
        : null}
      {outcome === "failed" ? `The chat did not take the test: ${problemText(row)}` : null}
      {outcome === "waits" && !test.late ? "The test is on its way." : null}
      {outcome === "waits" && test.late
        ? `The test was not sent within a minute: the worker may be away. ${problemText(row)}`
        : null}
    </p>
  );
}

function DeleteDialog({
  row,
  onClose,
  onDeleted,
}: {
  row: Channel;
  onClose: () => void;
  onDeleted: () => Promise<void>;
}) {
  return (
    <ConfirmDialog
      title={`Delete ${row.name}`}
      command="Delete"
      askReason
      open
      onClose={onClose}
      run={async (reason) => {
        await channelDelete(row, reason);
        await onDeleted();
        tell(`Deleted ${row.name}`);
      }}
    >
      <p>
        Nothing is posted to <b>{row.name}</b> any more
        {row.waiting > 0
          ? `; ${countText(row.waiting, "waiting notice is", "waiting notices are")} never sent there`
          : ""}
        . What people find in their inbox and are told by e-mail stays. The incoming webhook in{" "}
        {SHAPES[row.shape]} stays as well: remove it there if nothing else uses it.
      </p>
    </ConfirmDialog>
  );
}
