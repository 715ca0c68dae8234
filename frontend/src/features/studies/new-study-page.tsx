/** A new study: the model to vary, and the study that it begins from where it is a copy. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useParams, useSearchParams } from "react-router";

import { studiesAt } from "./addresses";
import { Builder } from "./builder";
import { draftFrom, firstDraft, type Model } from "./draft";
import type { Spec } from "./spec";

import { allocationQuery, optimizersQuery } from "@/api/allocations";
import { catalogAll, type CatalogKind, type CatalogTypes } from "@/api/catalog";
import { keys } from "@/api/query-keys";
import { studyQuery } from "@/api/studies";
import { useSystem } from "@/api/systems";
import { PageHead } from "@/components/ui/page";
import { Failure, Loading } from "@/components/ui/panel";
import { useCurrentSystemIs } from "@/lib/current-system";
import { to } from "@/lib/kinds";

const allOf = <Kind extends CatalogKind>(kind: Kind, system: string) => ({
  queryKey: keys.catalog.whole(kind, { system }),
  queryFn: ({ signal }: { signal: AbortSignal }): Promise<CatalogTypes[Kind][]> =>
    catalogAll(kind, { system, ordering: "name" }, signal),
});

const namesOf = (rows: readonly { name: string }[]) => rows.map((row) => row.name);

export default function NewStudyPage() {
  const { systemId = "" } = useParams();
  useCurrentSystemIs(systemId);
  const [address] = useSearchParams();
  const from = address.get("from");
  const copied = useQuery({ ...studyQuery(from ?? ""), enabled: from !== null });
  const allocation = address.get("allocation") ?? copied.data?.allocation ?? null;
  const system = useSystem(systemId);
  const optimizers = useQuery(optimizersQuery);
  const studied = useQuery({ ...allocationQuery(allocation ?? ""), enabled: allocation !== null });
  const [brokers, links, topics, classes] = useQueries({
    queries: [
      allOf("brokers", systemId),
      allOf("links", systemId),
      allOf("topics", systemId),
      allOf("consumer-classes", systemId),
    ],
  });
  const needed = [system, optimizers, brokers, links, topics, classes, ...(from ? [copied] : [])];
  const failed = needed.find((query) => query.error);
  const model = useMemo<Model | null>(
    () =>
      system.data && brokers.data && links.data && topics.data && classes.data
        ? {
            names: {
              brokers: namesOf(brokers.data),
              links: namesOf(links.data),
              topics: namesOf(topics.data),
              classes: namesOf(classes.data),
            },
            classes: classes.data,
            resources: system.data.resources ?? [],
          }
        : null,
    [system.data, brokers.data, links.data, topics.data, classes.data],
  );
  const first = useMemo(() => {
    if (!model || !optimizers.data || (from !== null && !copied.data)) return null;
    const methods = optimizers.data.results;
    const usual = methods.find((method) => method.name === "certified") ?? methods[0];
    const fresh = firstDraft(model, usual?.name);
    return copied.data
      ? draftFrom(copied.data.spec as unknown as Spec, copied.data.name, model, fresh)
      : fresh;
  }, [model, optimizers.data, from, copied.data]);
  return (
    <>
      <PageHead
        title="New study"
        crumbs={[
          { label: system.data?.name ?? "System", to: to.topology(systemId) },
          { label: "What-if", to: studiesAt.list(systemId) },
        ]}
        plainFacts={
          <span>
            {copied.data ? `Begun from W-${copied.data.number}. ` : ""}
            {studied.data
              ? `On the snapshot of A-${studied.data.number}. `
              : `On the model as it is when the study starts. `}
            Nothing in the system changes.
          </span>
        }
      />
      <div className="main">
        {system.data && optimizers.data && model && first ? (
          <Builder
            key={from ?? ""}
            system={system.data.id}
            model={model}
            methods={optimizers.data.results}
            first={first}
            allocation={allocation}
            mayStart={system.data.allowed_commands.includes("optimize")}
          />
        ) : (
          <section className="panel">
            {failed ? (
              <Failure error={failed.error} what="The model" retry={() => void failed.refetch()} />
            ) : (
              <Loading rows={6} label="Loading the model" />
            )}
          </section>
        )}
      </div>
    </>
  );
}
