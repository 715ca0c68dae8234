/** Who hears of what happens: every webhook, whether it takes what it is sent, and what waits. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate } from "react-router";

import { WebhookDialog } from "./webhook-dialog";
import { systemsText, typesText, WebhookState } from "./words";

import { useMay } from "@/api/session";
import { eventKindsQuery, webhooksQuery, type Webhook } from "@/api/webhooks";
import { Command } from "@/components/ui/command";
import type { Column } from "@/components/ui/data-table";
import { ListPanel } from "@/components/ui/list-panel";
import { pageAsked, useListAddress } from "@/components/ui/list-tools";
import { PageHead } from "@/components/ui/page";
import { to } from "@/lib/kinds";
import { fixed, UNKNOWN } from "@/lib/numbers";
import { ageText, exactTime } from "@/lib/time";

export default function WebhooksPage() {
  const navigate = useNavigate();
  const address = useListAddress([], "name");
  const rows = useQuery(webhooksQuery(pageAsked(address)));
  const kinds = useQuery(eventKindsQuery).data ?? [];
  const may = useMay("manage_webhooks");
  const [adding, setAdding] = useState(false);
  const columns: Column<Webhook>[] = [
    {
      key: "name",
      title: "Webhook",
      orderBy: "name",
      cell: (row) => (
        <Link className="link ent" to={to.webhook(row.id)}>
          {row.name}
        </Link>
      ),
    },
    { key: "types", title: "Hears of", cell: (row) => typesText(row, kinds) },
    { key: "systems", title: "Systems", cell: systemsText },
    { key: "state", title: "State", cell: (row) => <WebhookState row={row} /> },
    { key: "waiting", title: "Waits", number: true, cell: (row) => fixed(row.waiting) },
    {
      key: "answered",
      title: "Last delivery",
      number: true,
      cell: (row) => (
        <span className="faint" title={exactTime(row.answered_at)}>
          {row.answered_at ? `${ageText(row.answered_at)} ago` : UNKNOWN}
        </span>
      ),
    },
  ];
  const add = (
    <Command small icon="plus" onClick={() => setAdding(true)}>
      Add webhook
    </Command>
  );
  return (
    <>
      <PageHead title="Webhooks" />
      <div className="main">
        <ListPanel
          title="Webhooks"
          query={rows}
          address={address}
          search="Find webhooks"
          right={may ? add : undefined}
          columns={columns}
          empty={
            <>
              No other system hears of what happens here. A webhook posts each event, signed, to an
              address: plans that wait for approval, executions, edits of the model.
            </>
          }
          command={may ? add : undefined}
          onOpen={(row) => void navigate(to.webhook(row.id))}
        />
        {adding ? (
          <WebhookDialog
            row={null}
            onClose={() => setAdding(false)}
            onSaved={(row) => void navigate(to.webhook(row.id))}
          />
        ) : null}
      </div>
    </>
  );
}
