/** What-if studies: what they ask, their answers as they come, and the commands that a person may give. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { client, ifMatch, take, type Page, type Schemas } from "./client";
import type { ListQuery } from "./catalog";
import { keys } from "./query-keys";

export type Study = Schemas["Study"];
export type StudyDetail = Schemas["StudyDetail"];
export type StudyPoint = Schemas["StudyPoint"];
export type StudyCheck = Schemas["StudyCheck"];

export type StudyRequest = {
  system: string;
  spec: Record<string, unknown>;
  allocation?: string | null;
};

/** Most points that a study has; the server refuses more. */
const PAGE = 500;

export const studiesQuery = (query: ListQuery) =>
  queryOptions({
    queryKey: keys.studies.list(query),
    queryFn: async ({ signal }): Promise<Page<Study>> =>
      await take(client.GET("/api/v1/studies", { params: { query }, signal })),
  });

export const studyQuery = (id: string) =>
  queryOptions({
    queryKey: keys.studies.one(id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/studies/{id}", { params: { path: { id } }, signal })),
  });

/** How often the points of a running study are read again: the more there are, the more seldom. */
const lookEvery = (total: number) => Math.max(1000, 2 * total);

/** Every point so far, by its position; read once more when the run has ended, then never again. */
export const pointsQuery = (
  { id, run, points_total }: Pick<Study, "id" | "run" | "points_total">,
  ended: boolean,
) =>
  queryOptions({
    queryKey: keys.studies.points(id, run, ended),
    refetchInterval: ended ? false : lookEvery(points_total),
    staleTime: ended ? Infinity : 0,
    queryFn: async ({ signal }): Promise<StudyPoint[]> => {
      const rows: StudyPoint[] = [];
      let cursor: string | undefined;
      do {
        const page: Page<StudyPoint> = await take(
          client.GET("/api/v1/studies/{study_id}/points", {
            params: { path: { study_id: id }, query: { page_size: PAGE, cursor } },
            signal,
          }),
        );
        rows.push(...page.results);
        cursor = page.next
          ? (new URL(page.next, location.origin).searchParams.get("cursor") ?? undefined)
          : undefined;
      } while (cursor !== undefined);
      return rows;
    },
  });

/** What a study would need, or what is wrong with it; asked while it is built. */
export const studyCheckQuery = (body: StudyRequest) =>
  queryOptions({
    queryKey: keys.studies.check(body),
    queryFn: ({ signal }): Promise<StudyCheck> =>
      take(client.POST("/api/v1/studies/check", { body, signal })),
    retry: false,
    staleTime: 30_000,
  });

export const startStudy = (
  body: StudyRequest & { name: string },
  key: string,
): Promise<StudyDetail> =>
  take(client.POST("/api/v1/studies", { params: { header: { "Idempotency-Key": key } }, body }));

function useStudyCommand<Argument>(run: (argument: Argument) => Promise<unknown>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: run,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.studies.all }),
  });
}

export const useCancelStudy = () =>
  useStudyCommand((id: string) =>
    take(client.POST("/api/v1/studies/{id}/cancel", { params: { path: { id } } })),
  );

export const useRerunStudy = () =>
  useStudyCommand((id: string) =>
    take(client.POST("/api/v1/studies/{id}/rerun", { params: { path: { id } } })),
  );

export const useRenameStudy = () =>
  useStudyCommand(({ id, version, name }: { id: string; version: number; name: string }) =>
    take(
      client.PATCH("/api/v1/studies/{id}", {
        params: { path: { id }, header: ifMatch(version) },
        body: { name },
      }),
    ),
  );

export const useDeleteStudy = () =>
  useStudyCommand(({ id, version }: { id: string; version: number }) =>
    take(
      client.DELETE("/api/v1/studies/{id}", {
        params: { path: { id }, header: ifMatch(version) },
      }),
    ),
  );
