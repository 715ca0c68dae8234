/** The list of one kind of object: search, filter, sort, page; one page for all twelve kinds. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate, useParams } from "react-router";

import { DESCRIPTORS } from "./descriptors";
import { ImportDialog, isImported } from "./import-dialog";

import { catalogList, exportAddress, type CatalogKind } from "@/api/catalog";
import { keys } from "@/api/query-keys";
import { useSystem } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Icon } from "@/components/ui/icons";
import { ListPanel } from "@/components/ui/list-panel";
import { FilterText, useListAddress } from "@/components/ui/list-tools";
import { PageHead } from "@/components/ui/page";
import { Empty } from "@/components/ui/panel";
import { FilterSelect } from "@/components/ui/select";
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
  const [importing, setImporting] = useState(false);
  const words = KINDS[kind];
  const descriptor = DESCRIPTORS[kind];
  const filters = descriptor.filters ?? [];
  const references = descriptor.fields
    .filter((field) => field.kind === "ref")
    .map((field) => field.name);
  const names = [...filters.map((filter) => filter.name), ...references, "label"];
  const address = useListAddress(names, descriptor.ordering ?? "name");
  const owner = useSystem(system);
  const chosen = { search: address.search, ordering: address.ordering, ...address.filters };
  const query = { system, cursor: address.cursor, page_size: 50, ...chosen };
  const list = useQuery({
    queryKey: keys.catalog.list(kind, query),
    queryFn: ({ signal }) => catalogList(kind, query, signal),
    placeholderData: keepPreviousData,
  });
  const mayAdd = owner.data?.allowed_commands.includes("add") ?? false;
  const create = () => void navigate(to.newOf(system, kind));
  const title = words.many;
  return (
    <>
      <PageHead
        title={title}
        crumbs={[{ label: owner.data?.name ?? "System", to: to.topology(system) }]}
        tabs={sectionTabs(system, words.section)}
        commands={
          <>
            {isImported(kind) ? (
              <a
                className="btn"
                href={exportAddress(kind, system, chosen)}
                download={`${kind}.csv`}
              >
                <Icon name="download" small />
                Export CSV
              </a>
            ) : null}
            {mayAdd && isImported(kind) ? (
              <Command icon="upload" onClick={() => setImporting(true)}>
                Import CSV
              </Command>
            ) : null}
            {mayAdd ? (
              <Command primary icon="plus" onClick={create}>
                New {words.one}
              </Command>
            ) : null}
          </>
        }
        plainFacts={
          <span>
            {owner.data ? `model v${fixed(owner.data.model_version)}. ` : ""}
            {words.about}
          </span>
        }
      />
      {mayAdd && owner.data ? (
        <ImportDialog
          system={owner.data}
          kind={kind}
          open={importing}
          onClose={() => setImporting(false)}
        />
      ) : null}
      <div className="main">
        {descriptor.Above ? <descriptor.Above system={system} /> : null}
        <ListPanel
          title={title}
          query={list}
          address={address}
          search={`Find ${title.toLowerCase()}`}
          tools={
            <>
              {filters.map((filter) => (
                <FilterSelect
                  key={filter.name}
                  label={filter.label}
                  options={filter.options}
                  value={address.filters[filter.name] ?? ""}
                  onChange={(value) => address.setFilter(filter.name, value)}
                />
              ))}
              <FilterText
                label="Label"
                placeholder="label, or key=value"
                value={address.filters.label ?? ""}
                onChange={(value) => address.setFilter("label", value)}
              />
            </>
          }
          columns={descriptor.columns}
          empty={`${words.about} There is none yet.`}
          command={
            mayAdd ? (
              <Command small icon="plus" onClick={create}>
                New {words.one}
              </Command>
            ) : undefined
          }
          onOpen={(row) => void navigate(opened(system, kind, row.id))}
        />
      </div>
    </>
  );
}
