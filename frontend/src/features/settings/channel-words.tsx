/** Channels of chats in words. */
import { hourText, ITEM_KINDS } from "./choice-fields";

import type { Channel } from "@/api/notifications";
import { Badge } from "@/components/ui/state-badge";
import { countText } from "@/lib/numbers";
import { clockText } from "@/lib/time";

export const SHAPES: Record<Channel["shape"], string> = { slack: "Slack", teams: "Teams" };

/** Nothing is anybody's own to a channel. */
export const CHANNEL_KINDS: typeof ITEM_KINDS = {
  ...ITEM_KINDS,
  plan_to_review: "A plan waits for review",
  plan_rejected: "A plan was rejected",
  plan_stale: "A plan went stale",
  channel_failing: "Another chat channel did not take its messages",
};

export function kindsText(row: Channel): string {
  const all = Object.keys(CHANNEL_KINDS).length;
  const count = row.kinds?.length ?? all;
  return count === all ? "all kinds" : countText(count, "kind");
}

export function systemsText(row: Channel): string {
  if (row.all_systems !== false) return "all";
  return row.system_names.join(", ") || "none: they were deleted";
}

/** "daily 08:00, quiet 22:00–07:00 Europe/Berlin": the zone only where there is a time. */
export function RhythmText({ row }: { row: Channel }) {
  const pace = row.digest_at ? `daily ${hourText(row.digest_at)}` : "at once";
  const isQuiet = row.quiet_from && row.quiet_until;
  const quiet = `quiet ${hourText(row.quiet_from)}–${hourText(row.quiet_until)}`;
  return (
    <>
      {pace}
      {isQuiet ? `, ${quiet}` : ""}
      {row.digest_at || isQuiet ? <span className="channelsub">{row.timezone}</span> : null}
    </>
  );
}

/** A test is posted at once: what takes longer than this has another reason. */
const TEST_MS = 60_000;

/** Whether a test is on its way; one that waits for longer may never be posted. */
export const isTesting = (row: Channel): boolean =>
  row.test_outcome === "waiting" && !isLate(row) && row.enabled !== false;

const isLate = (row: Channel): boolean =>
  row.test_asked_at !== null && Date.now() - new Date(row.test_asked_at).getTime() > TEST_MS;

/** What a chat said may end without a full stop. */
export const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** What came of the last test; empty: there was none since the channel was made or edited. */
export function testText(row: Channel): string {
  const at = `${clockText(row.test_ended_at)} UTC`;
  switch (row.test_outcome) {
    case "none":
      return "";
    case "waiting":
      return isLate(row)
        ? `The test of ${clockText(row.test_asked_at)} UTC was not sent within a minute: the worker may be away.`
        : "The test is on its way.";
    case "delivered":
      return `The chat took the test at ${at}.`;
    case "accepted":
      return `${SHAPES[row.shape]} accepted the test at ${at}, and says nothing of what becomes of it: look into the channel.`;
    case "failed":
      return `The test failed at ${at}: ${sentence(row.test_problem)}`;
  }
}

/** How many messages it never got; empty: none. */
export function missedText(row: Channel): string {
  if (row.missed === 0) return "";
  const at = `${clockText(row.missed_since)} UTC`;
  const how = row.missed === 1 ? `was given up at ${at}` : `were given up since ${at}`;
  return `${countText(row.missed, "message")} ${how}; the next one that is written says so.`;
}

/** Whether the chat takes what it is sent. */
export function ChannelState({ row }: { row: Channel }) {
  if (row.enabled === false) {
    return (
      <Badge tone="idle" icon="ban" title="Nothing is sent.">
        Disabled
      </Badge>
    );
  }
  if (isTesting(row)) {
    return (
      <Badge tone="active" icon="progress">
        Testing
      </Badge>
    );
  }
  if (row.problem !== "") {
    return (
      <Badge tone="bad" icon="offline">
        Failing
      </Badge>
    );
  }
  if (row.last_sent_at === null) {
    return (
      <Badge tone="idle" icon="clock">
        Not tried yet
      </Badge>
    );
  }
  return (
    <Badge tone="good" icon="check">
      Works
    </Badge>
  );
}

/** What the row has no room for. Only administrators are given the reference. `tested`: with what
 * came of the last test. */
export function ChannelDetails({ row, tested }: { row: Channel; tested: boolean }) {
  const kinds = row.kinds ?? [];
  const hears = (Object.keys(CHANNEL_KINDS) as (keyof typeof CHANNEL_KINDS)[]).filter((kind) =>
    kinds.includes(kind),
  );
  return (
    <>
      <p>Is told of: {hears.map((kind) => CHANNEL_KINDS[kind]).join("; ") || "nothing"}.</p>
      {row.credential ? (
        <p>
          Credential: <span className="mono">{row.credential}</span>
        </p>
      ) : null}
      <p>Times in its messages are {row.timezone}.</p>
      {row.shape === "teams" && row.allowed_commands.includes("test") ? (
        <p>
          A workflow of Teams accepts a test before it posts the card, and says nothing of what
          fails then: look into the channel after each test.
        </p>
      ) : null}
      {tested && row.test_outcome !== "none" ? <p>{testText(row)}</p> : null}
    </>
  );
}
