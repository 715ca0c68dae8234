/** Channels of chats: of what each hears and when, whether it takes it, and how to test it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import { ChannelDialog } from "./channel-dialog";
import {
  ChannelDetails,
  ChannelState,
  isTesting,
  kindsText,
  missedText,
  RhythmText,
  sentence,
  SHAPES,
  systemsText,
  testText,
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
import { useNow } from "@/lib/clock";
import { to } from "@/lib/kinds";
import { countText } from "@/lib/numbers";
import { ageText, clockText, exactTime } from "@/lib/time";

export function ChannelsPanel() {
  const address = useListAddress([], "name");
  /** Channels whose tests were on their way while somebody looked: what came of them stays. */
  const [awaited, setAwaited] = useState<ReadonlySet<string>>(new Set());
  const [opened, setOpened] = useState<string | null>(null);
  const [editing, setEditing] = useState<Channel | "new" | null>(null);
  const [deleting, setDeleting] = useState<Channel | null>(null);
  const [sending, setSending] = useState<string | null>(null);
  const rows = useQuery(channelsQuery(pageAsked(address), isTesting));
  const isNew = (row: Channel) => row.test_outcome === "waiting" && !awaited.has(row.id);
  const fresh = rows.data?.results.filter(isNew).map((row) => row.id) ?? [];
  if (fresh.length > 0) setAwaited(new Set([...awaited, ...fresh]));
  // A test that waits for long says so, whatever the server answers.
  useNow(rows.data?.results.some(isTesting) ?? false);
  const may = useMay("manage_channels");
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: keys.channels.all });
  const sendTest = async (row: Channel) => {
    setSending(row.id);
    try {
      await channelTest(row.id);
      setAwaited((old) => new Set(old).add(row.id));
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
      cell: (row) => <ChannelState row={row} />,
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
          const isNews = awaited.has(row.id) || isLastWord(row);
          const details = row.id === opened ? <ChannelDetails row={row} tested={!isNews} /> : null;
          const test = isNews ? testText(row) : "";
          const problem = problemText(row, isNews || row.id === opened);
          const missed = missedText(row);
          if (details === null && test === "" && problem === "" && missed === "") return null;
          return (
            <>
              {test === "" ? null : (
                <p className="muted" role="status">
                  {test}
                </p>
              )}
              {problem === "" ? null : <p className="muted">{problem}</p>}
              {missed === "" ? null : (
                <p className="muted">
                  {missed}{" "}
                  <Link className="link" to={to.inbox}>
                    What still stands is in the inbox.
                  </Link>
                </p>
              )}
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

/** Whether a test failed and nothing was taken since. */
function isLastWord(row: Channel): boolean {
  if (row.test_outcome !== "failed" || row.test_ended_at === null) return false;
  return row.last_sent_at === null || new Date(row.test_ended_at) > new Date(row.last_sent_at);
}

/** Why it takes nothing, since when and until when it is left alone; empty: it takes it. */
function problemText(row: Channel, besideTest: boolean): string {
  if (row.enabled === false || row.problem === "") return "";
  const isSaid = besideTest && row.test_outcome === "failed" && row.test_problem === row.problem;
  return [
    isSaid ? "" : sentence(row.problem),
    row.failing_since ? `It has taken nothing for ${ageText(row.failing_since)}.` : "",
    row.retry_at && new Date(row.retry_at) > new Date()
      ? `It is left alone until ${clockText(row.retry_at)} UTC, but for tests.`
      : "",
  ]
    .filter(Boolean)
    .join(" ");
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
