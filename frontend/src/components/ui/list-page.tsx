/** A page that is one list of the server: head, filters, table, ways on, what an empty list says. */
import {
  keepPreviousData,
  useQuery,
  type QueryKey,
  type UseQueryOptions,
} from "@tanstack/react-query";
import { useNavigate } from "react-router";

import type { Column } from "./data-table";
import { ListPanel } from "./list-panel";
import { pageAsked, useListAddress, WHO_AND_WHEN, WhoAndWhen, whoAndWhen } from "./list-tools";
import { PageHead, Segments } from "./page";
import { FilterSelect } from "./select";

import type { ListQuery } from "@/api/catalog";
import type { Page } from "@/api/client";
import { useSystem, useSystems, type System } from "@/api/systems";
import { useCurrentSystemIs } from "@/lib/current-system";
import type { Crumb } from "@/lib/crumbs";
import { to } from "@/lib/kinds";

/** The system of a row, or a field of the API with its values; the address keeps what is chosen. */
type Filter =
  "system" | { name: string; label: string; options: readonly { value: string; label: string }[] };

/** Lists of which one is shown at a time; choosing one does not narrow it. */
type Choice = {
  name: string;
  label: string;
  usual: string;
  options: readonly { value: string; label: string; empty: string }[];
};

function SystemFilter({ value, onChange }: { value: string; onChange: (id: string) => void }) {
  const systems = useSystems().data?.results ?? [];
  const options = systems.map(({ id, name }) => ({ value: id, label: name }));
  return <FilterSelect label="System" value={value} options={options} onChange={onChange} />;
}

export function ListPage<Row extends { id: string }, Key extends QueryKey>({
  title,
  list = title,
  label,
  about,
  system: systemId,
  crumbs,
  tabs,
  query,
  shown,
  filters = [],
  who,
  choice,
  search,
  columns,
  sortable,
  newestFirst,
  empty = "",
  command,
  needs,
  address: addressOf,
  onOpen,
  tall,
  children,
}: {
  title: string;
  /** What is listed, where the page has another name. */
  list?: string;
  /** The name of the table, where the list's is another. */
  label?: string;
  about: React.ReactNode;
  /** The system whose page it is; without one it is about all of them. */
  system?: string;
  /** Where the page is below others than its system. */
  crumbs?: readonly Crumb[];
  tabs?: readonly { to: string; label: string }[];
  /** What the server is asked for the page of the list that the address says. */
  query: (asked: ListQuery, chosen: string) => UseQueryOptions<Page<Row>, Error, Page<Row>, Key>;
  /** A row with what is known beside the server's page. */
  shown?: (row: Row) => Row;
  filters?: readonly Filter[];
  /** Whom the filter by person is about; without it there is none, and none by day. */
  who?: string;
  choice?: Choice;
  /** What the search field is called; without it there is none. */
  search?: string;
  columns: readonly Column<Row>[];
  sortable?: boolean;
  newestFirst?: boolean;
  /** What belongs here, said while there is none; a choice says it of each of its lists. */
  empty?: React.ReactNode;
  /** What makes the next. */
  command?: React.ReactNode;
  /** What the system must allow for that. */
  needs?: System["allowed_commands"][number];
  /** Where a row opens; or else `onOpen`. */
  address?: (row: Row) => string;
  onOpen?: (row: Row) => void;
  tall?: boolean;
  /** What stands above the list, and dialogs. */
  children?: React.ReactNode;
}) {
  const navigate = useNavigate();
  useCurrentSystemIs(systemId);
  const system = useSystem(systemId ?? "", systemId !== undefined).data;
  const names = filters.map((filter) => (filter === "system" ? filter : filter.name));
  const kept = choice ? [choice.name] : [];
  const address = useListAddress([...kept, ...names, ...(who === undefined ? [] : WHO_AND_WHEN)]);
  const chosen = choice?.options.find(
    ({ value }) => value === (address.filters[choice.name] || choice.usual),
  );
  const listed = useQuery({
    ...query(
      {
        ...Object.fromEntries(names.map((name) => [name, address.filters[name] || undefined])),
        ...(systemId === undefined ? {} : { system: systemId }),
        ...(who === undefined ? {} : whoAndWhen(address.filters)),
        ...pageAsked(address),
      },
      chosen?.value ?? "",
    ),
    placeholderData: keepPreviousData,
  });
  const offered = needs === undefined || system?.allowed_commands.includes(needs) ? command : null;
  const above =
    systemId === undefined ? [] : [{ label: system?.name ?? "System", to: to.topology(systemId) }];
  return (
    <>
      <PageHead
        title={title}
        crumbs={crumbs ?? above}
        tabs={tabs}
        commands={offered}
        plainFacts={<span>{about}</span>}
      />
      <div className="main">
        {children}
        <ListPanel
          title={list}
          label={label}
          query={listed}
          rows={shown && (listed.data?.results ?? []).map(shown)}
          address={address}
          kept={kept}
          search={search}
          tools={
            filters.length === 0 && who === undefined ? undefined : (
              <>
                {filters.map((filter) => {
                  const name = filter === "system" ? filter : filter.name;
                  const chosen = {
                    value: address.filters[name] ?? "",
                    onChange: (value: string) => address.setFilter(name, value),
                  };
                  return filter === "system" ? (
                    <SystemFilter key={name} {...chosen} />
                  ) : (
                    <FilterSelect
                      key={name}
                      label={filter.label}
                      options={filter.options}
                      {...chosen}
                    />
                  );
                })}
                {who === undefined ? null : <WhoAndWhen address={address} who={who} />}
              </>
            )
          }
          right={
            choice ? (
              <Segments
                label={choice.label}
                value={chosen?.value ?? choice.usual}
                options={choice.options}
                onChange={(value) =>
                  address.setFilter(choice.name, value === choice.usual ? "" : value)
                }
              />
            ) : undefined
          }
          columns={columns}
          sortable={sortable}
          newestFirst={newestFirst}
          empty={chosen?.empty ?? empty}
          command={offered}
          onOpen={(row) => (addressOf ? void navigate(addressOf(row)) : onOpen?.(row))}
          tall={tall}
        />
      </div>
    </>
  );
}
