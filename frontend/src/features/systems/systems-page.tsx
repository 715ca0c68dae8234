/** Every managed system. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";

import { overviewQuery } from "@/api/allocations";
import { useMay } from "@/api/session";
import { Command } from "@/components/ui/command";
import { DataTable, type Column } from "@/components/ui/data-table";
import { SearchField, useListAddress } from "@/components/ui/list-tools";
import { PageHead } from "@/components/ui/page";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import type { Overview } from "@/api/allocations";
import { to } from "@/lib/kinds";
import { fixed } from "@/lib/numbers";

const COLUMNS: Column<Overview>[] = [
  {
    key: "name",
    title: "System",
    orderBy: "name",
    cell: (row) => (
      <Link className="ent" to={to.system(row.id)}>
        {row.name}
      </Link>
    ),
  },
  {
    key: "product",
    title: "Product",
    cell: (row) => <span className="tag">{row.product_name}</span>,
  },
  {
    key: "description",
    title: "Description",
    cell: (row) => <div className="clip faint">{row.description}</div>,
  },
  { key: "brokers", title: "Brokers", number: true, cell: (row) => fixed(row.brokers) },
  { key: "topics", title: "Topics", number: true, cell: (row) => fixed(row.topics) },
  { key: "classes", title: "Classes", number: true, cell: (row) => fixed(row.consumer_classes) },
  { key: "version", title: "Model", number: true, cell: (row) => `v${row.model_version}` },
];

export default function SystemsPage() {
  const overview = useQuery(overviewQuery);
  const mayCreate = useMay("create_system");
  const navigate = useNavigate();
  const address = useListAddress([], "name");
  const create = () => void navigate(to.newSystem);
  const newSystem = mayCreate ? (
    <Command primary icon="plus" onClick={create}>
      New system
    </Command>
  ) : null;
  return (
    <>
      <PageHead
        title="Systems"
        commands={newSystem}
        plainFacts={<span>Each is one managed messaging system with its own model.</span>}
      />
      <div className="main">
        <Panel
          title="Systems"
          sub={overview.data ? fixed(overview.data.results.length) : undefined}
          flush
        >
          <div className="tools">
            <SearchField
              label="Find systems"
              value={address.search}
              onSearch={(search) => address.set({ search })}
            />
          </div>
          <QueryBody query={overview} what="Systems">
            {({ results }) => {
              const wanted = address.search.toLowerCase();
              const rows = results
                .filter((row) => `${row.name} ${row.description}`.toLowerCase().includes(wanted))
                .sort(
                  (a, b) =>
                    a.name.localeCompare(b.name) * (address.ordering.startsWith("-") ? -1 : 1),
                );
              return rows.length === 0 ? (
                <Empty>
                  {wanted
                    ? "No system of that name."
                    : "A system is one managed messaging system. There is none yet."}
                </Empty>
              ) : (
                <DataTable
                  label="Systems"
                  columns={COLUMNS}
                  rows={rows}
                  rowKey={(row) => row.id}
                  ordering={address.ordering}
                  onOrder={(ordering) => address.set({ ordering })}
                  onOpen={(row) => void navigate(to.system(row.id))}
                  keys
                />
              );
            }}
          </QueryBody>
        </Panel>
      </div>
    </>
  );
}
