/** Channels of chats in words. */
import { hourText, ITEM_KINDS } from "./choice-fields";

import type { Channel } from "@/api/notifications";
import { Badge } from "@/components/ui/state-badge";
import { countText } from "@/lib/numbers";

export const SHAPES: Record<Channel["shape"], string> = { slack: "Slack", teams: "Teams" };

/** Nothing is anybody's own to a channel. */
export const CHANNEL_KINDS: typeof ITEM_KINDS = {
  ...ITEM_KINDS,
  plan_to_review: "A plan waits for review",
  plan_rejected: "A plan was rejected",
  plan_stale: "A plan went stale",
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

/** Whether the chat takes what it is sent. */
export function ChannelState({ row, testing }: { row: Channel; testing: boolean }) {
  if (row.enabled === false) {
    return (
      <Badge tone="idle" icon="ban" title="Nothing is sent.">
        Disabled
      </Badge>
    );
  }
  if (testing) {
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

/** What the row has no room for. Only administrators are given the reference. */
export function ChannelDetails({ row }: { row: Channel }) {
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
    </>
  );
}
