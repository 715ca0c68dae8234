/** The candidate that is looked at: its tree at every stop, its steps, and how good its plan is. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { FrontierPanel } from "./frontier-panel";
import { isToday, titleOf, troubleOf } from "./candidate-words";

import { catalogAll } from "@/api/catalog";
import { candidateQuery, type Candidate, type CandidateDetail } from "@/api/evaluations";
import { trafficQuery } from "@/api/in-force";
import { keys } from "@/api/query-keys";
import { BoundRows } from "@/components/map/bound";
import {
  candidateTimeline,
  loadsOfStop,
  playedBrokers,
  stopNotes,
} from "@/components/map/candidate-timeline";
import { Gantt } from "@/components/map/gantt";
import { OverlayPlayer } from "@/components/map/overlay-player";
import { Note } from "@/components/ui/dialogs";
import { Panel, QueryBody } from "@/components/ui/panel";
import { methodWord } from "@/lib/words";

function Drawn({ candidate, name }: { candidate: CandidateDetail; name: string }) {
  const scope = { system: candidate.system };
  const brokers = useQuery({
    queryKey: keys.catalog.whole("brokers", scope),
    queryFn: ({ signal }) => catalogAll("brokers", scope, signal),
  });
  const traffic = useQuery({ ...trafficQuery(candidate.system), refetchInterval: false });
  const timeline = useMemo(() => candidateTimeline(candidate), [candidate]);
  const [stop, setStop] = useState(0);
  const [selected, setSelected] = useState<string | null>(null);
  const loads = useMemo(
    () => loadsOfStop(candidate, candidate, traffic.data, timeline, stop),
    [candidate, traffic.data, timeline, stop],
  );
  const played = useMemo(
    () => playedBrokers(brokers.data ?? [], candidate, traffic.data, loads, stop > 0),
    [brokers.data, candidate, traffic.data, loads, stop],
  );
  const notes = useMemo(() => stopNotes(candidate), [candidate]);
  return (
    <>
      {brokers.data === undefined ? (
        <Panel title={titleOf(candidate)} flush>
          <QueryBody query={brokers} what="The map" rows={8}>
            {() => null}
          </QueryBody>
        </Panel>
      ) : (
        <OverlayPlayer
          title={titleOf(candidate)}
          sub={
            isToday(candidate)
              ? "the overlay as it is"
              : "tanks: broker load; under each step: traffic on links"
          }
          brokers={played}
          timeline={timeline}
          stop={stop}
          onStop={setStop}
          notes={notes}
          traffic={loads.links}
          selected={selected}
          onSelect={setSelected}
        />
      )}
      {isToday(candidate) ? null : (
        <Gantt
          steps={timeline.steps}
          at={stop}
          onStop={setStop}
          bound={candidate.lower_bound_steps}
          name={name}
        />
      )}
    </>
  );
}

export function CandidatePanels({ row, name }: { row: Candidate; name: string }) {
  const candidate = useQuery(candidateQuery(row.id));
  if (candidate.data === undefined) {
    return (
      <Panel title={titleOf(row)} flush>
        <QueryBody query={candidate} what="This candidate" rows={8}>
          {() => null}
        </QueryBody>
      </Panel>
    );
  }
  const trouble = troubleOf(row);
  if (candidate.data.edges.length === 0 && !isToday(row)) {
    return (
      <Panel title={titleOf(row)}>
        <Note tone="warn">{trouble || "This method found no tree."}</Note>
      </Panel>
    );
  }
  return (
    <>
      {trouble && row.actions === null ? (
        <Note tone="warn">{`${row.title}: ${trouble}`}</Note>
      ) : null}
      <Drawn key={row.id} candidate={candidate.data} name={`${name} ${row.name}`} />
    </>
  );
}

/** Beside the picture: bounds and the frontier of the same candidate. */
export function CandidateSide({ row }: { row: Candidate }) {
  const candidate = useQuery(candidateQuery(row.id));
  if (isToday(row) || candidate.data === undefined || row.actions === null) return null;
  return (
    <>
      <Panel title="Plan against its bound" sub={methodWord(row.planner)}>
        <BoundRows
          rows={[
            { label: "action", value: row.actions, bound: row.lower_bound_actions },
            { label: "step", value: row.steps_count, bound: row.lower_bound_steps },
          ]}
        />
      </Panel>
      <FrontierPanel candidate={candidate.data} />
    </>
  );
}
