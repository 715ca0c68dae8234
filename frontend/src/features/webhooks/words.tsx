/** Webhooks in words. */
import type { DeliveryState, EventKind, Webhook } from "@/api/webhooks";
import { Badge } from "@/components/ui/state-badge";
import { actionWord } from "@/lib/words";

export const EVERYTHING = "*";

/** Whether the other side takes what it is sent. */
export function WebhookState({ row, large }: { row: Webhook; large?: boolean }) {
  if (row.enabled === false) {
    return (
      <Badge tone="idle" icon="ban" large={large} title={row.disabled_because}>
        Off
      </Badge>
    );
  }
  if (row.problem !== "") {
    return (
      <Badge tone="bad" icon="offline" large={large} title={row.problem}>
        Failing
      </Badge>
    );
  }
  if (row.answered_at === null) {
    return (
      <Badge tone="idle" icon="clock" large={large}>
        Nothing sent yet
      </Badge>
    );
  }
  return (
    <Badge tone="good" icon="check" large={large}>
      Delivers
    </Badge>
  );
}

/** One type of a kind, in the words of the history. */
export const oneText = (kind: EventKind, type: string) =>
  `${kind.title}: ${actionWord(type.slice(type.lastIndexOf(".") + 1))}`;

/** A pattern as people read it. */
export function typeText(pattern: string, kinds: readonly EventKind[]): string {
  if (pattern === EVERYTHING) return "everything";
  for (const kind of kinds) {
    if (kind.pattern === pattern) return kind.title.toLowerCase();
    if (kind.types.includes(pattern)) return oneText(kind, pattern).toLowerCase();
  }
  return pattern;
}

export function typesText(row: Webhook, kinds: readonly EventKind[]): string {
  return row.types.map((pattern) => typeText(pattern, kinds)).join(", ");
}

export function systemsText(row: Webhook): string {
  if (row.all_systems !== false) return "all";
  return row.system_names.join(", ") || "none: they were deleted";
}

export const STATES: Record<DeliveryState, string> = {
  waiting: "Waits",
  delivered: "Delivered",
  given_up: "Given up",
};

const LOOKS = {
  waiting: { tone: "warn", icon: "clock" },
  delivered: { tone: "good", icon: "check" },
  given_up: { tone: "bad", icon: "x" },
} as const;

export function DeliveryBadge({ state, attempts }: { state: DeliveryState; attempts: number }) {
  // What has only just happened is on its way, and no reason to worry.
  const look =
    state === "waiting" && attempts === 0
      ? ({ tone: "idle", icon: "clock" } as const)
      : LOOKS[state];
  return (
    <Badge tone={look.tone} icon={look.icon}>
      {STATES[state]}
    </Badge>
  );
}
