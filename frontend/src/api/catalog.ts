/** Every kind of object of a system has the same five operations; one set of calls serves them all. */
import { client, ifMatch, take, type Page, type Schemas } from "./client";

export type CatalogTypes = {
  brokers: Schemas["Broker"];
  links: Schemas["Link"];
  overlays: Schemas["Overlay"];
  topics: Schemas["Topic"];
  publishers: Schemas["Publisher"];
  "correlation-keys": Schemas["CorrelationKey"];
  "consumer-classes": Schemas["ConsumerClass"];
  "utility-functions": Schemas["UtilityFunction"];
  slos: Schemas["Slo"];
  streams: Schemas["Stream"];
  groups: Schemas["Group"];
  subscribers: Schemas["Subscriber"];
};

export type CatalogKind = keyof CatalogTypes;

/** What all of them share. */
export type CatalogObject = {
  id: string;
  system: string;
  name: string;
  version: number;
  created_at: string;
  updated_at: string;
  allowed_commands: string[];
};

export type ListQuery = Record<string, string | number | boolean | undefined>;

// The paths differ only in their name, so one of them stands for all; the rows keep their own type.
const listPath = (kind: CatalogKind) => `/api/v1/${kind}` as "/api/v1/topics";
const onePath = (kind: CatalogKind) => `/api/v1/${kind}/{id}` as "/api/v1/topics/{id}";

const filled = (query: ListQuery) =>
  Object.fromEntries(
    Object.entries(query).filter(([, value]) => value !== "" && value !== undefined),
  );

export async function catalogList<Kind extends CatalogKind>(
  kind: Kind,
  query: ListQuery,
  signal?: AbortSignal,
): Promise<Page<CatalogTypes[Kind]>> {
  const page = await take(client.GET(listPath(kind), { params: { query: filled(query) }, signal }));
  return page as unknown as Page<CatalogTypes[Kind]>;
}

/** All rows of a kind, page after page; for maps and pickers of one system, not for endless lists. */
export async function catalogAll<Kind extends CatalogKind>(
  kind: Kind,
  query: ListQuery,
  signal?: AbortSignal,
): Promise<CatalogTypes[Kind][]> {
  const rows: CatalogTypes[Kind][] = [];
  let cursor: string | undefined;
  do {
    const page: Page<CatalogTypes[Kind]> = await catalogList(
      kind,
      { ...query, page_size: 500, cursor },
      signal,
    );
    rows.push(...page.results);
    cursor = page.next
      ? (new URL(page.next, location.origin).searchParams.get("cursor") ?? undefined)
      : undefined;
  } while (cursor !== undefined);
  return rows;
}

export async function catalogOne<Kind extends CatalogKind>(
  kind: Kind,
  id: string,
  signal?: AbortSignal,
): Promise<CatalogTypes[Kind]> {
  const row = await take(client.GET(onePath(kind), { params: { path: { id } }, signal }));
  return row as unknown as CatalogTypes[Kind];
}

export async function catalogCreate(
  kind: CatalogKind,
  body: Record<string, unknown>,
  key: string,
): Promise<CatalogObject> {
  return await take(
    client.POST(listPath(kind), {
      params: { header: { "Idempotency-Key": key } },
      body: body as never,
    }),
  );
}

export async function catalogUpdate(
  kind: CatalogKind,
  id: string,
  version: number,
  body: Record<string, unknown>,
): Promise<CatalogObject> {
  return await take(
    client.PATCH(onePath(kind), {
      params: { path: { id }, header: ifMatch(version) },
      body,
    }),
  );
}

export async function catalogDelete(
  kind: CatalogKind,
  id: string,
  version: number,
  reason: string,
): Promise<void> {
  await take(
    client.DELETE(onePath(kind), {
      params: { path: { id }, header: ifMatch(version), query: reason ? { reason } : {} },
    }),
  );
}

export type Imported = Schemas["Imported"];

/** What the server reads of a table: a file as it is, so that it names a wrong encoding. */
export type Table = ArrayBuffer | string;

/** The objects of a kind as CSV, all or those of a list; the import reads it back. */
export function exportAddress(
  kind: CatalogKind,
  system: string,
  chosen: Readonly<Record<string, string | undefined>> = {},
): string {
  const query = new URLSearchParams({ system });
  for (const [name, value] of Object.entries(chosen)) if (value) query.set(name, value);
  return `/api/v1/${kind}/export?${query.toString()}`;
}

/** Create and change objects by name from a CSV; a dry run answers the same and changes nothing. */
export async function catalogImport(
  kind: CatalogKind,
  table: Table,
  query: { system: string; dry_run: boolean; create_missing: string; reason?: string },
  { key, signal }: { key?: string; signal?: AbortSignal } = {},
): Promise<Imported> {
  return await take(
    client.POST(`/api/v1/${kind}/import` as "/api/v1/topics/import", {
      params: { query, header: key ? { "Idempotency-Key": key } : {} },
      headers: { "Content-Type": "text/csv" },
      body: table as string,
      bodySerializer: (body) => body,
      signal,
    }),
  );
}
