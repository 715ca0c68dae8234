/** What belongs to an object: the classes of a topic, the users of a utility. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { DESCRIPTORS } from "./descriptors";

import { catalogList, type CatalogKind } from "@/api/catalog";
import { keys } from "@/api/query-keys";
import { DataTable } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { KINDS, to } from "@/lib/kinds";
import { fixed } from "@/lib/numbers";

const SHOWN = 20;

export function RelatedPanel({
  system,
  kind,
  by,
  id,
  title,
  mayAdd,
}: {
  system: string;
  kind: CatalogKind;
  by: string;
  id: string;
  title: string;
  mayAdd: boolean;
}) {
  const query = { system, [by]: id, page_size: SHOWN };
  const rows = useQuery({
    queryKey: keys.catalog.list(kind, query),
    queryFn: ({ signal }) => catalogList(kind, query, signal),
  });
  const descriptor = DESCRIPTORS[kind];
  const add = mayAdd ? (
    <Link className="btn sm" to={`${to.newOf(system, kind)}?${by}=${id}`}>
      <Icon name="plus" small />
      Add {KINDS[kind].one}
    </Link>
  ) : null;
  const count = rows.data?.count ?? 0;
  return (
    <Panel
      title={title}
      sub={rows.data ? fixed(count) : undefined}
      right={add}
      flush
      footer={
        count > SHOWN ? (
          <>
            {SHOWN} of {fixed(count)} shown.{" "}
            <Link to={`${to.kind(system, kind)}?${by}=${id}`}>All of them</Link>
          </>
        ) : undefined
      }
    >
      <QueryBody query={rows} what={title} rows={3}>
        {(page) =>
          page.results.length === 0 ? (
            <Empty>{KINDS[kind].about}</Empty>
          ) : (
            <DataTable
              label={title}
              columns={descriptor.columns.filter(
                (column) => column.key !== by && column.key !== "updated_at",
              )}
              rows={page.results}
              rowKey={(row) => row.id}
            />
          )
        }
      </QueryBody>
    </Panel>
  );
}
