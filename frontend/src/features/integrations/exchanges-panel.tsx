/** The last requests to the other side with their answers; secrets are masked by the server. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { exchangesQuery, type Exchange } from "@/api/connections";
import { BodyText } from "@/components/ui/body-text";
import { DataTable, type Column } from "@/components/ui/data-table";
import { pagerOf, useListAddress } from "@/components/ui/list-tools";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { Segments } from "@/components/ui/page";
import { Badge } from "@/components/ui/state-badge";
import { fixed } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

function Answered({ exchange }: { exchange: Exchange }) {
  const status = exchange.answer_status;
  if (status === null) {
    return (
      <Badge tone="bad" icon="offline" title={exchange.failure}>
        No answer
      </Badge>
    );
  }
  const good = status < 300;
  return (
    <Badge tone={good ? "good" : "bad"} icon={good ? "check" : "x"}>
      {fixed(status)}
    </Badge>
  );
}

/** Name of the filter in the address: a page has more than one list. */
const KIND = "exchanges_kind";

/** The server is the same for all of them. */
const pathOf = (address: string) => address.replace(/^https?:\/\/[^/]+/, "");

export function ExchangesPanel({ connection }: { connection: string }) {
  const address = useListAddress([KIND], "", "exchanges_");
  const kind = address.filters[KIND] ?? "";
  const exchanges = useQuery({
    ...exchangesQuery(connection, address.cursor, kind === "write"),
    placeholderData: keepPreviousData,
  });
  const [open, setOpen] = useState<number | null>(null);
  const columns: Column<Exchange>[] = [
    {
      key: "at",
      title: "At",
      unit: "UTC",
      cell: (exchange) => (
        <span title={exactTime(exchange.at)}>
          {clockText(exchange.at)}
          {exchange.times > 1 ? (
            <span className="faint" title={`First at ${exactTime(exchange.first_at)}`}>
              {" "}
              {fixed(exchange.times)} times
            </span>
          ) : null}
        </span>
      ),
    },
    {
      key: "request",
      title: "Request",
      cell: (exchange) => (
        <button
          type="button"
          className="link mono exchangeaddress"
          title={exchange.address}
          aria-expanded={open === exchange.id}
          onClick={() => setOpen(open === exchange.id ? null : exchange.id)}
        >
          {exchange.method} {pathOf(exchange.address)}
        </button>
      ),
    },
    {
      key: "change",
      title: "Change",
      cell: (exchange) => exchange.change_name || <span className="faint">none</span>,
    },
    { key: "status", title: "Answer", cell: (exchange) => <Answered exchange={exchange} /> },
    {
      key: "seconds",
      title: "Took",
      unit: "s",
      number: true,
      cell: (exchange) => fixed(exchange.seconds, 2),
    },
  ];
  return (
    <Panel
      title="Last exchanges"
      sub={exchanges.data ? `${fixed(exchanges.data.count)}, newest first` : undefined}
      right={
        <Segments
          label="Exchanges"
          value={kind}
          options={[
            { value: "", label: "All" },
            { value: "write", label: "That write" },
          ]}
          onChange={(value) => address.setFilter(KIND, value)}
        />
      }
      flush
      stale={exchanges.isPlaceholderData}
      footer={pagerOf(exchanges.data, "exchanges", address)}
    >
      <QueryBody query={exchanges} what="Exchanges">
        {(page) =>
          page.results.length === 0 ? (
            <Empty>
              {kind
                ? "No request has changed anything at the other side."
                : "Nothing was sent yet. A test sends a request that changes nothing."}
            </Empty>
          ) : (
            <DataTable
              label="Last exchanges"
              columns={columns}
              rows={page.results}
              rowKey={(exchange) => String(exchange.id)}
              under={(exchange) =>
                exchange.id === open ? (
                  <>
                    {exchange.failure ? <p className="down">{exchange.failure}</p> : null}
                    <div className="bodies">
                      <BodyText title="Sent" text={exchange.request} />
                      <BodyText title="Answered" text={exchange.response} />
                    </div>
                  </>
                ) : null
              }
            />
          )
        }
      </QueryBody>
    </Panel>
  );
}
