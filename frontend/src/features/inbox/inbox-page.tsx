/** What waits for the person who is signed in, then what they should know. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";

import { inboxQuery, type InboxItem } from "@/api/inbox";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Icon, type IconName } from "@/components/ui/icons";
import { PageHead } from "@/components/ui/page";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { to } from "@/lib/kinds";
import { countText, fixed } from "@/lib/numbers";
import { ageText, exactTime } from "@/lib/time";

const ICONS: Record<InboxItem["kind"], IconName> = {
  plan_to_review: "usercheck",
  plan_to_execute: "play",
  plan_rejected: "x",
  plan_stale: "clock",
  execution_stuck: "skull",
  execution_paused: "pause",
  execution_held: "hourglass",
  execution_failed: "x",
  database_restored: "database",
  agent_silent: "offline",
  messages_lost: "alert",
  backlog: "stack",
  connection_failing: "offline",
  changes_refused: "alert",
  webhook_failing: "send",
  channel_failing: "send",
  slo_burns_fast: "flame",
  slo_burns: "flame",
  budget_spent: "target",
};

const columns: Column<InboxItem>[] = [
  {
    key: "title",
    title: "What",
    cell: (item) => (
      <Link className="link" to={item.page}>
        <Icon name={ICONS[item.kind]} small /> {item.title}
      </Link>
    ),
  },
  { key: "system", title: "System", cell: (item) => item.system_name },
  {
    key: "since",
    title: "Since",
    number: true,
    cell: (item) => (
      <span className="faint" title={exactTime(item.since)}>
        {ageText(item.since)} ago
      </span>
    ),
  },
];

const underText = (item: InboxItem) =>
  item.grew_at ? `${item.detail} It got worse ${ageText(item.grew_at)} ago.` : item.detail;

const PARTS = [
  { title: "Waits for you", waits: true, empty: "Nothing waits for you." },
  { title: "To know", waits: false, empty: "Nothing happened that your roles are called to." },
];

export default function InboxPage() {
  const inbox = useQuery(inboxQuery);
  return (
    <>
      <PageHead
        title="Inbox"
        commands={
          <Link className="link" to={to.notifications}>
            Notifications by e-mail
          </Link>
        }
      />
      <div className="main">
        <QueryBody query={inbox} what="Inbox" rows={4}>
          {({ count, waiting, results }) => (
            <div className="stack">
              {PARTS.map((part) => (
                <Part
                  key={part.title}
                  {...part}
                  // The answer holds no more than the first of them.
                  total={part.waits ? waiting : count - waiting}
                  rows={results.filter((item) => item.waits === part.waits)}
                  keys={part.waits === waiting > 0}
                />
              ))}
            </div>
          )}
        </QueryBody>
      </div>
    </>
  );
}

function Part({
  title,
  empty,
  total,
  rows,
  keys,
}: {
  title: string;
  empty: string;
  total: number;
  rows: InboxItem[];
  /** Whether J, K and Enter move in this one. */
  keys: boolean;
}) {
  const navigate = useNavigate();
  const hidden = total - rows.length;
  return (
    <Panel
      title={title}
      sub={fixed(total)}
      footer={hidden > 0 ? `${countText(hidden, "more is", "more are")} not shown.` : undefined}
      flush
    >
      {total === 0 ? (
        <Empty>{empty}</Empty>
      ) : (
        <DataTable
          label={title}
          columns={columns}
          rows={rows}
          rowKey={(item) => item.id}
          keys={keys}
          onOpen={(item) => void navigate(item.page)}
          under={(item) => <span className="muted">{underText(item)}</span>}
        />
      )}
    </Panel>
  );
}
