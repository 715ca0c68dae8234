/** Candidates side by side in rows, best first, today's tree among them. */
import {
  gapWords,
  horizonText,
  isToday,
  messageScale,
  scaled,
  titleOf,
  troubleOf,
} from "./candidate-words";

import type { Candidate, Evaluation } from "@/api/evaluations";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Badge } from "@/components/ui/state-badge";
import { Delta, UnitNumber } from "@/components/ui/unit-number";
import { isOver } from "@/lib/load";
import { countText, fixed, percentText, rateText, UNKNOWN } from "@/lib/numbers";

function Name({ candidate }: { candidate: Candidate }) {
  const trouble = troubleOf(candidate);
  return (
    <div className="candname">
      <b>
        {titleOf(candidate)}{" "}
        {candidate.chosen ? (
          <Badge tone="good" icon="check">
            Recommended
          </Badge>
        ) : null}
      </b>
      <span title={trouble || undefined}>
        {trouble ||
          (isToday(candidate)
            ? "do nothing"
            : `${fixed(candidate.links_changed)} of its links are new`)}
      </span>
    </div>
  );
}

function Counted({ value, bound }: { value: number | null; bound: number | null }) {
  if (value === null) return UNKNOWN;
  const words = value === 0 ? "" : gapWords(value, bound);
  return (
    <div className="cell2">
      <b>{fixed(value)}</b>
      <span className={words.startsWith("proven") ? "up" : undefined}>{words}</span>
    </div>
  );
}

/** What the last column counts: it is too long for its head. */
export const benefitWords = (candidates: readonly Candidate[], evaluation: Evaluation) =>
  `net benefit over ${horizonText(evaluation)} in ${messageScale(candidates.map((row) => row.net_benefit)).unit}`;

export function columnsOf(candidates: readonly Candidate[]): Column<Candidate>[] {
  const scale = messageScale(candidates.map((row) => row.net_benefit));
  const today = candidates.find(isToday);
  return [
    { key: "name", title: "Candidate", cell: (row) => <Name candidate={row} /> },
    {
      key: "cost",
      title: "Routing cost",
      unit: "link msg/s",
      number: true,
      cell: (row) => (
        <div className="cell2">
          <b>{rateText(row.routing_cost_per_s)}</b>
          {isToday(row) || row.routing_cost_per_s === null || !today?.routing_cost_per_s ? null : (
            <Delta
              value={
                ((row.routing_cost_per_s - today.routing_cost_per_s) / today.routing_cost_per_s) *
                100
              }
              decimals={1}
              better="down"
              unit="%"
            />
          )}
        </div>
      ),
    },
    {
      key: "flight",
      title: "In flight",
      unit: "msg",
      number: true,
      cell: (row) => fixed(row.in_flight),
    },
    {
      key: "busiest",
      title: "Busiest broker",
      number: true,
      cell: (row) =>
        row.busiest_share === null ? (
          UNKNOWN
        ) : (
          <div className="cell2">
            <b className={isOver(row.busiest_share) ? "down" : undefined}>
              {percentText(row.busiest_share)}
            </b>
            <span>{row.busiest_broker}</span>
          </div>
        ),
    },
    {
      key: "actions",
      title: "Actions",
      number: true,
      cell: (row) => <Counted value={row.actions} bound={row.lower_bound_actions} />,
    },
    {
      key: "steps",
      title: "Steps",
      number: true,
      cell: (row) => <Counted value={row.steps_count} bound={row.lower_bound_steps} />,
    },
    {
      key: "disruption",
      title: "Pauses, disturbs",
      number: true,
      cell: (row) =>
        row.pause_s === null ? (
          UNKNOWN
        ) : (
          <div className="cell2">
            <b>
              <UnitNumber as="duration" value={row.pause_s} />
            </b>
            <span>
              {row.disturbed_subscribers === null
                ? ""
                : countText(row.disturbed_subscribers, "subscriber")}
            </span>
          </div>
        ),
    },
    {
      key: "benefit",
      title: "Net benefit",
      unit: scale.short,
      number: true,
      strong: true,
      cell: (row) => {
        const benefit = row.net_benefit;
        const tone = benefit === null || benefit === 0 ? "same" : benefit > 0 ? "up" : "worse";
        return <span className={tone}>{scaled(benefit, scale, true)}</span>;
      },
    },
  ];
}

export function CandidatesTable({
  candidates,
  selected,
  onSelect,
}: {
  candidates: readonly Candidate[];
  selected: string | null;
  onSelect: (id: string) => void;
}) {
  return (
    <DataTable
      label="Candidates"
      columns={columnsOf(candidates)}
      rows={candidates}
      rowKey={(row) => row.id}
      selected={selected}
      onSelect={(row) => onSelect(row.id)}
      tall
    />
  );
}
