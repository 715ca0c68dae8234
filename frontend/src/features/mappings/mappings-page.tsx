/** The maps of one system, newest first, and the command that makes the next. */
import { useParams } from "react-router";

import { mappingsAt } from "./addresses";

import { mappingsQuery } from "@/api/mappings";
import { createdColumn } from "@/components/ui/list-panel";
import { ListPage } from "@/components/ui/list-page";

export default function MappingsPage() {
  const { systemId = "" } = useParams();
  return (
    <ListPage
      title="Mapping"
      list="Mappings"
      about="Which stream carries which flow, and in which group."
      system={systemId}
      query={mappingsQuery}
      columns={[createdColumn("Found")]}
      empty="This system has none yet."
      address={(row) => mappingsAt.one(systemId, row.id)}
    />
  );
}
