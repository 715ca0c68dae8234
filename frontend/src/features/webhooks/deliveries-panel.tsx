/** What a webhook was sent: state, attempts, bodies and answers, and sending one again. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { DeliveryBadge, STATES } from "./words";

import { keys } from "@/api/query-keys";
import {
  deliveriesQuery,
  deliveryQuery,
  deliveryRepeat,
  type Delivery,
  type DeliveryState,
} from "@/api/webhooks";
import { BodyText } from "@/components/ui/body-text";
import { Command } from "@/components/ui/command";
import { DataTable, type Column } from "@/components/ui/data-table";
import { pagerOf, useListAddress } from "@/components/ui/list-tools";
import { Segments } from "@/components/ui/page";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { tell, tellFailure } from "@/components/ui/toast";
import { fixed } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

const STATE = "state";

const NONE: Record<DeliveryState, string> = {
  waiting: "No delivery waits.",
  delivered: "Nothing has been delivered yet.",
  given_up: "No delivery was given up.",
};

export function DeliveriesPanel({ webhook }: { webhook: string }) {
  const address = useListAddress([STATE], "");
  const state = (address.filters[STATE] ?? "") as DeliveryState | "";
  const deliveries = useQuery({
    ...deliveriesQuery(webhook, address.cursor, state),
    placeholderData: keepPreviousData,
  });
  const [open, setOpen] = useState<string | null>(null);
  const columns: Column<Delivery>[] = [
    {
      key: "at",
      title: "At",
      unit: "UTC",
      cell: (row) => <span title={exactTime(row.created_at)}>{clockText(row.created_at)}</span>,
    },
    {
      key: "type",
      title: "Event",
      cell: (row) => (
        <button
          type="button"
          className="link mono"
          aria-expanded={open === row.id}
          onClick={() => setOpen(open === row.id ? null : row.id)}
        >
          {row.type}
        </button>
      ),
    },
    {
      key: "state",
      title: "State",
      cell: (row) => <DeliveryBadge state={row.state} attempts={row.attempts} />,
    },
    { key: "attempts", title: "Attempts", number: true, cell: (row) => fixed(row.attempts) },
    {
      key: "next",
      title: "Next, UTC",
      number: true,
      cell: (row) =>
        row.state === "waiting" ? (
          <span title={exactTime(row.next_at)}>{clockText(row.next_at)}</span>
        ) : null,
    },
  ];
  return (
    <Panel
      title="Deliveries"
      sub={deliveries.data ? `${fixed(deliveries.data.count)}, newest first` : undefined}
      right={
        <Segments
          label="Deliveries"
          value={state}
          options={[
            { value: "", label: "All" },
            ...(Object.keys(STATES) as DeliveryState[]).map((value) => ({
              value,
              label: STATES[value],
            })),
          ]}
          onChange={(value) => address.setFilter(STATE, value)}
        />
      }
      flush
      stale={deliveries.isPlaceholderData}
      footer={pagerOf(deliveries.data, "deliveries", address)}
    >
      <QueryBody query={deliveries} what="Deliveries">
        {(page) =>
          page.results.length === 0 ? (
            <Empty>
              {state
                ? NONE[state]
                : "Nothing has happened yet that it hears of. While it is on, a test sends an event at once."}
            </Empty>
          ) : (
            <DataTable
              label="Deliveries"
              columns={columns}
              rows={page.results}
              rowKey={(row) => row.id}
              under={(row) =>
                row.id === open ? (
                  <Opened row={row} />
                ) : row.problem && row.state !== "delivered" ? (
                  <span className="muted">{row.problem}</span>
                ) : null
              }
            />
          )
        }
      </QueryBody>
    </Panel>
  );
}

function Opened({ row }: { row: Delivery }) {
  const queries = useQueryClient();
  const whole = useQuery(deliveryQuery(row.id));
  const [busy, setBusy] = useState(false);
  const again = async () => {
    setBusy(true);
    try {
      await deliveryRepeat(row.id);
      await queries.invalidateQueries({ queryKey: keys.webhooks.all });
      tell("It is sent again, with the same id");
    } catch (error) {
      tellFailure("Not sent again", error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <QueryBody query={whole} what="This delivery">
      {(delivery) => (
        <>
          {delivery.tries.length === 0 ? <p className="muted">Not tried yet.</p> : null}
          <div className="bodies">
            <BodyText title="Sent" text={delivery.body} />
            <div>
              {delivery.tries.map((one) => (
                <BodyText
                  key={one.at}
                  title={`${clockText(one.at)} UTC: ${one.answer_status ?? "no answer"}, ${fixed(one.seconds, 2)} s`}
                  text={one.response || one.failure}
                />
              ))}
            </div>
          </div>
          {row.allowed_commands.includes("redeliver") ? (
            <Command small icon="send" disabled={busy} onClick={() => void again()}>
              Send again
            </Command>
          ) : null}
        </>
      )}
    </QueryBody>
  );
}
