/** What the draft would change: computed by the server while one edits, stored nowhere. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import { previewDrafts, type Preview, type PreviewChange } from "@/api/allocations";
import { keys } from "@/api/query-keys";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Empty, Failure, Loading, Panel } from "@/components/ui/panel";
import { Delta } from "@/components/ui/unit-number";
import { askAddress } from "@/lib/computations";
import {
  countText,
  fixed,
  priceDecimals,
  rateChange,
  rateText,
  signed,
  significant,
} from "@/lib/numbers";
import { problemOf } from "@/lib/problem";
import { useStill } from "@/lib/still";

const FIRST = 8;
const STILL_MS = 400;
const BUSY_TRIES = 3;

type Row = {
  key: string;
  what: string;
  before: React.ReactNode;
  after: React.ReactNode;
  change: React.ReactNode;
};

const unit = (text: string, of: string) => (
  <span className="nowrap">
    {text}
    <span className="u">{of}</span>
  </span>
);

function rowOf(change: PreviewChange): Row {
  const { kind, name, detail, before, after } = change;
  const key = `${kind} ${name} ${detail}`;
  if (kind === "rate") {
    return {
      key,
      what: `Rate of ${name}`,
      before: unit(rateText(before), "msg/s"),
      after: unit(rateText(after), "msg/s"),
      change: rateChange(after, before),
    };
  }
  if (kind === "admitted") {
    return {
      key,
      what: `Admitted of ${name}`,
      before: fixed(before),
      after: fixed(after),
      change: <Delta value={after - before} />,
    };
  }
  const decimals = priceDecimals([before, after]);
  return {
    key,
    what: kind === "node_price" ? `Price of ${detail} at ${name}` : `Price of link ${name}`,
    before: fixed(before, decimals),
    after: fixed(after, decimals),
    change: signed(after - before, decimals),
  };
}

/** Both solutions by each set of functions: by different ones they would not compare. */
function totals(preview: Preview): Row[] {
  const utility = (key: string, what: string, before: number, after: number): Row => ({
    key,
    what,
    before: fixed(before, 1),
    after: fixed(after, 1),
    change: signed(after - before, 1),
  });
  const { admitted_before, admitted_after } = preview;
  return [
    utility(
      "utility",
      "Total utility, by the draft",
      preview.utility_before,
      preview.utility_after,
    ),
    utility(
      "saved",
      "Total utility, by the saved functions",
      preview.saved_utility_before,
      preview.saved_utility_after,
    ),
    {
      key: "admitted",
      what: "Consumers admitted",
      before: fixed(admitted_before),
      after: fixed(admitted_after),
      change: <Delta value={admitted_after - admitted_before} />,
    },
  ];
}

const COLUMNS = (version: number): Column<Row>[] => [
  { key: "what", title: "Quantity", cell: (row) => row.what },
  { key: "before", title: `In model v${version}`, number: true, cell: (row) => row.before },
  { key: "after", title: "With this draft", number: true, strong: true, cell: (row) => row.after },
  { key: "change", title: "Change", number: true, cell: (row) => row.change },
];

function Changes({ preview }: { preview: Preview }) {
  const [all, setAll] = useState(false);
  if (preview.status === "infeasible") {
    return <Empty>With this draft nothing is feasible. {preview.reason}</Empty>;
  }
  const rows = preview.changes.map((change) => rowOf(change));
  const shown = all ? rows : rows.slice(0, FIRST);
  return (
    <>
      <DataTable
        label="What would change"
        columns={COLUMNS(preview.model_version)}
        rows={[...shown, ...totals(preview)]}
        rowKey={(row) => row.key}
      />
      {shown.length < rows.length ? (
        <footer>
          {fixed(shown.length)} of {countText(preview.changes_in_all, "change")}.{" "}
          <button type="button" className="link" onClick={() => setAll(true)}>
            {rows.length < preview.changes_in_all ? "Show" : "Show all"} {fixed(rows.length)}
          </button>
        </footer>
      ) : null}
    </>
  );
}

export function PreviewPanel({
  system,
  utility,
  modelVersion,
  kind,
  parameters,
  isDirty,
}: {
  system: string;
  utility: string;
  modelVersion: number;
  kind: string;
  /** Null while the draft has a fault. */
  parameters: Record<string, unknown> | null;
  isDirty: boolean;
}) {
  const asked = useStill({ kind, parameters }, STILL_MS);
  const enabled = isDirty && asked.parameters !== null && parameters !== null;
  const preview = useQuery({
    queryKey: keys.preview(system, utility, modelVersion, asked),
    enabled,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    retry: (tries, error) => problemOf(error).code === "busy" && tries < BUSY_TRIES,
    retryDelay: 700,
    queryFn: ({ signal }) =>
      previewDrafts(
        system,
        { [utility]: { kind: asked.kind, parameters: asked.parameters ?? {} } },
        signal,
      ),
  });
  const refusal = preview.error ? problemOf(preview.error) : null;
  const data = preview.data;
  const waits = preview.isFetching || (isDirty && parameters !== asked.parameters && !data);
  return (
    <Panel
      title="What would change"
      sub={`preview on model v${modelVersion}${data ? ` by ${data.method}` : ""}, not a proposal`}
      flush
      stale={preview.isPlaceholderData}
      right={
        enabled && data ? (
          <span className="live" role="status">
            <i />
            {preview.isFetching
              ? "computing"
              : `computed in ${significant(data.runtime_s, 2)} s${data.status === "time_limit" ? ", the best so far" : ""}`}
          </span>
        ) : undefined
      }
    >
      {!isDirty ? (
        <Empty>
          Change something, and what it would do to rates, admissions and prices stands here.
        </Empty>
      ) : parameters === null ? (
        <Empty>The draft has a fault; the preview waits until it is mended.</Empty>
      ) : refusal ? (
        refusal.status === 409 ? (
          <Empty
            command={
              <Link className="btn sm" to={askAddress("allocation", system)}>
                Optimize
              </Link>
            }
          >
            {refusal.detail}
          </Empty>
        ) : (
          <Failure error={preview.error} what="The preview" retry={() => void preview.refetch()} />
        )
      ) : data ? (
        data.changes_in_all === 0 && data.status !== "infeasible" ? (
          <Empty>Nothing: rates, admissions and prices stay as they are.</Empty>
        ) : (
          <Changes preview={data} />
        )
      ) : waits || preview.isPending ? (
        <Loading rows={5} label="Loading the preview" />
      ) : null}
    </Panel>
  );
}
