/** Where plans open their changes: every connection, whether it answers, and what waits for it. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate } from "react-router";

import { ConnectionDialog } from "./connection-dialog";
import { ConnectionState, gateText } from "./words";

import { connectionsQuery, productsQuery, type Connection } from "@/api/connections";
import { useMay } from "@/api/session";
import { Command } from "@/components/ui/command";
import type { Column } from "@/components/ui/data-table";
import { ListPanel } from "@/components/ui/list-panel";
import { pageAsked, useListAddress } from "@/components/ui/list-tools";
import { PageHead } from "@/components/ui/page";
import { to } from "@/lib/kinds";
import { fixed, UNKNOWN } from "@/lib/numbers";
import { ageText, exactTime } from "@/lib/time";

export default function ConnectionsPage() {
  const navigate = useNavigate();
  const address = useListAddress([], "name");
  const rows = useQuery(connectionsQuery(pageAsked(address)));
  const products = useQuery(productsQuery);
  const may = useMay("manage_connections");
  const [adding, setAdding] = useState(false);
  const title = (name: string) =>
    products.data?.find((product) => product.name === name)?.title ?? name;
  const columns: Column<Connection>[] = [
    {
      key: "name",
      title: "Connection",
      orderBy: "name",
      cell: (row) => (
        <Link className="link ent" to={to.connection(row.id)}>
          {row.name}
        </Link>
      ),
    },
    { key: "product", title: "Product", cell: (row) => title(row.product) },
    {
      key: "systems",
      title: "Systems",
      cell: (row) =>
        row.system_names.length > 0 ? (
          row.system_names.join(", ")
        ) : (
          <span className="faint">none</span>
        ),
    },
    { key: "gate", title: "Execution waits for", cell: gateText },
    { key: "state", title: "State", cell: (row) => <ConnectionState row={row} /> },
    {
      key: "waiting",
      title: "Waits to be sent",
      number: true,
      cell: (row) => fixed(row.waiting),
    },
    {
      key: "answered",
      title: "Last answer",
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
      Add connection
    </Command>
  );
  return (
    <>
      <PageHead title="Connections" />
      <div className="main">
        <ListPanel
          title="Connections"
          query={rows}
          address={address}
          search="Find connections"
          right={may ? add : undefined}
          columns={columns}
          empty={
            <>
              Plans open no changes yet. A connection to ServiceNow or to another ticketing system
              opens a change for every plan that is sent for review, and can hold its execution back
              until that is approved there.
            </>
          }
          command={may ? add : undefined}
          onOpen={(row) => void navigate(to.connection(row.id))}
        />
        {adding ? (
          <ConnectionDialog
            row={null}
            onClose={() => setAdding(false)}
            onSaved={(row) => void navigate(to.connection(row.id))}
          />
        ) : null}
      </div>
    </>
  );
}
