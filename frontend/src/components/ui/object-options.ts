/** The objects of a kind for a field that picks one of them by a part of its name. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Option } from "./fields";

import { catalogList, catalogOne, type CatalogKind, type CatalogTypes } from "@/api/catalog";
import { keys } from "@/api/query-keys";
import { useStill } from "@/lib/still";

const SHOWN = 50;
const STILL_MS = 200;

/** What the field takes, and the object that is chosen, which is among the options whatever is
 * searched for. */
export function useObjectOptions<Kind extends CatalogKind>(
  kind: Kind,
  system: string,
  chosen: string,
  optionOf: (row: CatalogTypes[Kind]) => Option,
) {
  const [typed, setTyped] = useState("");
  const search = useStill(typed, STILL_MS);
  const scope = { system, search: search || undefined, page_size: SHOWN };
  const matching = useQuery({
    queryKey: keys.catalog.list(kind, scope),
    queryFn: ({ signal }) => catalogList(kind, scope, signal),
    placeholderData: keepPreviousData,
  });
  const one = useQuery({
    queryKey: keys.catalog.one(kind, chosen),
    queryFn: ({ signal }) => catalogOne(kind, chosen, signal),
    enabled: chosen !== "",
  });
  const rows = matching.data?.results ?? [];
  const kept = one.data && !rows.some((row) => row.id === chosen) ? [one.data] : [];
  const options = [...kept, ...rows].map(optionOf);
  // What the field shows once something is chosen is no search for it.
  const onSearch = (text: string) =>
    setTyped(options.some(({ label }) => label === text) ? "" : text);
  const object = one.data ?? rows.find((row) => row.id === chosen) ?? null;
  return { options, object, loading: matching.isFetching, onSearch };
}
