/** One map: what it costs whom, against the maps that it is compared with. */
import { useParams } from "react-router";

import { mappingsAt } from "./addresses";

import { useMapping } from "@/api/mappings";
import { PageHead } from "@/components/ui/page";
import { QueryBody } from "@/components/ui/panel";
import { useCurrentSystemIs } from "@/lib/current-system";

export default function MappingPage() {
  const { id = "", systemId = "" } = useParams();
  useCurrentSystemIs(systemId);
  const mapping = useMapping(id);
  return (
    <>
      <PageHead
        title={mapping.data?.name ?? "Mapping"}
        crumbs={[{ label: "Mapping", to: mappingsAt.list(systemId) }]}
      />
      <div className="main">
        <QueryBody query={mapping} what="This mapping" rows={8}>
          {() => null}
        </QueryBody>
      </div>
    </>
  );
}
