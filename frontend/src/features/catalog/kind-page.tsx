/** The list of one kind of object: search, filter, sort, page; one page for all twelve kinds. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "react-router";

import { DESCRIPTORS } from "./descriptors";

import { catalogList, type CatalogKind } from "@/api/catalog";
import { keys } from "@/api/query-keys";
import { useSystem } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { DataTable } from "@/components/ui/data-table";
import { FilterSelect, pagerOf, SearchField, useListAddress } from "@/components/ui/list-tools";
import { PageHead } from "@/components/ui/page";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { useCurrentSystemIs } from "@/lib/current-system";
import { isKind, KINDS, opened, sectionTabs, to } from "@/lib/kinds";
import { fixed } from "@/lib/numbers";

export default function KindPage() {
  const { systemId = "", kind } = useParams();
  if (!isKind(kind)) {
    return (
      <div className="main">
        <section className="panel">
          <Empty>There is no kind of object of that name.</Empty>
        </section>
      </div>
    );
  }
  return <KindList key={`${systemId}/${kind}`} system={systemId} kind={kind} />;
}

function KindList({ system, kind }: { system: string; kind: CatalogKind }) {
  useCurrentSystemIs(system);
  const navigate = useNavigate();
  const words = KINDS[kind];
  const descriptor = DESCRIPTORS[kind];
  const filters = descriptor.filters ?? [];
  const references = descriptor.fields
    .filter((field) => field.kind === "ref")
    .map((field) => field.name);
  const names = [...filters.map((filter) => filter.name), ...references];
  const address = useListAddress(names, descriptor.ordering ?? "name");
  const owner = useSystem(system);
  const query = {
    system,
    search: address.search,
    ordering: address.ordering,
    cursor: address.cursor,
    page_size: 50,
    ...address.filters,
  };
  const list = useQuery({
    queryKey: keys.catalog.list(kind, query),
    queryFn: ({ signal }) => catalogList(kind, query, signal),
    placeholderData: keepPreviousData,
  });
  const mayAdd = owner.data?.allowed_commands.includes("add") ?? false;
  const create = () => void navigate(to.newOf(system, kind));
  const title = words.many;
  const count = list.data?.count;
  return (
    <>
      <PageHead
        title={title}
        crumbs={[{ label: owner.data?.name ?? "System", to: to.topology(system) }]}
        tabs={sectionTabs(system, words.section)}
        commands={
          mayAdd ? (
            <Command primary icon="plus" onClick={create}>
              New {words.one}
            </Command>
          ) : null
        }
        plainFacts={
          <span>
            {owner.data ? `model v${fixed(owner.data.model_version)}. ` : ""}
            {words.about}
          </span>
        }
      />
      <div className="main">
        <Panel
          title={title}
          sub={count === undefined ? undefined : fixed(count)}
          stale={list.isPlaceholderData}
          flush
          footer={pagerOf(list.data, title.toLowerCase(), address)}
        >
          <div className="tools">
            <SearchField
              label={`Find ${title.toLowerCase()}`}
              value={address.search}
              onSearch={(search) => address.set({ search })}
            />
            {filters.map((filter) => (
              <FilterSelect
                key={filter.name}
                label={filter.label}
                options={filter.options}
                value={address.filters[filter.name] ?? ""}
                onChange={(value) => address.setFilter(filter.name, value)}
              />
            ))}
            {address.isNarrowed ? (
              <button type="button" className="btn sm ghost" onClick={address.clear}>
                Show all
              </button>
            ) : null}
          </div>
          <QueryBody query={list} what={title} rows={8}>
            {(page) =>
              page.results.length === 0 ? (
                address.isNarrowed ? (
                  <Empty
                    command={
                      <button type="button" className="btn sm" onClick={address.clear}>
                        Show all
                      </button>
                    }
                  >
                    Nothing matches what is searched and filtered for.
                  </Empty>
                ) : (
                  <Empty
                    command={
                      mayAdd ? (
                        <Command small icon="plus" onClick={create}>
                          New {words.one}
                        </Command>
                      ) : undefined
                    }
                  >
                    {words.about} There is none yet.
                  </Empty>
                )
              ) : (
                <DataTable
                  label={title}
                  columns={descriptor.columns}
                  rows={page.results}
                  rowKey={(row) => row.id}
                  ordering={address.ordering}
                  onOrder={(ordering) => address.set({ ordering })}
                  onOpen={(row) => void navigate(opened(system, kind, row.id))}
                  keys
                />
              )
            }
          </QueryBody>
        </Panel>
      </div>
    </>
  );
}
