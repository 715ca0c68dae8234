/** What came of an executed plan: the verdict, and each part of its promise. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { figureText, KEPT, promisedText, QUANTITIES } from "./parts";

import { outcomeQuery, type OutcomeDetail, type PlanDetail, type PromisePart } from "@/api/plans";
import { DataTable, type Column } from "@/components/ui/data-table";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Panel, QueryBody } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { VERDICTS } from "@/components/ui/verdicts";
import { to } from "@/lib/kinds";
import { fixed } from "@/lib/numbers";

const FIRST = 10;

const COLUMNS: Column<PromisePart>[] = [
  {
    key: "kept",
    title: "Became",
    cell: ({ kept }) => {
      const { word, tone, icon } = KEPT[kept];
      return (
        <Badge tone={tone} icon={icon}>
          {word}
        </Badge>
      );
    },
  },
  {
    key: "part",
    title: "Part",
    cell: (part) => (
      <>
        <span className="faint">{QUANTITIES[part.quantity]}</span>{" "}
        <b className="clip" title={part.name}>
          {part.name}
        </b>{" "}
        <span className="faint">{part.where}</span>
        <div className="said">{part.because}</div>
      </>
    ),
  },
  { key: "promised", title: "Promised", number: true, cell: promisedText },
  {
    key: "before",
    title: "Before",
    number: true,
    cell: (part) => (
      <span title={part.noise === null ? undefined : `varied by ±${figureText(part, part.noise)}`}>
        {figureText(part, part.before)}
      </span>
    ),
  },
  {
    key: "after",
    title: "After",
    number: true,
    strong: true,
    cell: (part) => figureText(part, part.after),
  },
];

/** Missed ones first: they are what somebody has to look at. */
const ORDER: readonly PromisePart["kept"][] = ["missed", "unknown", "kept"];

export function OutcomePanel({ plan }: { plan: Pick<PlanDetail, "id"> }) {
  const query = useQuery({
    ...outcomeQuery(plan.id),
    // The verdict comes with news; while the stream is away the page looks for it.
    refetchInterval: ({ state }) => (state.data?.judged === "too_early" ? 15_000 : false),
  });
  const parts = (query.data?.parts ?? []).toSorted(
    (a, b) => ORDER.indexOf(a.kept) - ORDER.indexOf(b.kept),
  );
  const paged = usePaged(parts, FIRST, plan.id);
  return (
    <Panel
      title="What came of it"
      sub={query.data ? countsText(query.data) : undefined}
      right={
        <Link className="btn sm" to={to.promises}>
          All promises
        </Link>
      }
      flush
      footer={paged.open || paged.close ? <PageFoot paged={paged} what="parts" /> : undefined}
    >
      <QueryBody query={query} what="What came of it" rows={3}>
        {(outcome) => (
          <>
            <div className="body verdict">
              <Badge {...VERDICTS[outcome.judged]}>{VERDICTS[outcome.judged].word}</Badge>
              <p>{outcome.because}</p>
            </div>
            {parts.length > 0 ? (
              <div className="promiseparts">
                <DataTable
                  label="Parts of the promise"
                  tall
                  columns={COLUMNS}
                  rows={paged.visible}
                  rowKey={(part) => `${part.quantity} ${part.name} ${part.where}`}
                />
              </div>
            ) : null}
          </>
        )}
      </QueryBody>
    </Panel>
  );
}

function countsText({ parts, parts_kept: kept }: OutcomeDetail): string | undefined {
  return parts.length > 0 ? `${fixed(kept)} of ${fixed(parts.length)} parts kept` : undefined;
}
