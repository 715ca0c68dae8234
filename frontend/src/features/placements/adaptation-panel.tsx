/** Parts of the topic's bucket that follow its traffic: whether, by which order, and what came of it. */
import { useQuery } from "@tanstack/react-query";

import { movedParts, orderText } from "./adaptation";
import { AdaptationChart } from "./adaptation-chart";
import { AdaptationCommands } from "./adaptation-commands";
import { AdaptationDecisions } from "./adaptation-decisions";
import { AdaptedParts, Conservation } from "./adaptation-parts";
import { MakePlan } from "./make-plan";

import { adaptationQuery, type Adaptation } from "@/api/adaptation";
import type { PlacementDetail } from "@/api/placements";
import { Note } from "@/components/ui/dialogs";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { Badge, StateBadge } from "@/components/ui/state-badge";
import { clockText, exactTime } from "@/lib/time";

function AdaptationState({ adaptation: { state } }: { adaptation: Adaptation }) {
  if (state === "running" || state === "stopped") return <StateBadge state={state} />;
  return state === "held" ? (
    <Badge tone="waits" icon="hourglass">
      Held
    </Badge>
  ) : (
    <Badge tone="idle" icon="ban">
      Off
    </Badge>
  );
}

/** What parts wait for, in the server's words where it has any. */
function waitsFor(adaptation: Adaptation): string {
  const { because, parts } = adaptation;
  if (because) return because;
  return movedParts(adaptation).length === 0 && parts.every((part) => part.is_confirmed)
    ? "Brokers enforce the parts in force."
    : "Parts are coming back to those in force.";
}

/** Why parts do not move now, or what keeps some of them; nothing where all follow the traffic. */
function Halted({ adaptation }: { adaptation: Adaptation }) {
  const { state, because, stopped_at: at, stopped_by: by, note } = adaptation;
  const tone = because ? "warn" : "";
  if (state === "held") return <Note tone="warn">Held: {because}</Note>;
  if (state === "running") return because ? <Note tone="warn">{because}</Note> : null;
  if (state === "off") return <Note tone={tone}>The order has ended. {waitsFor(adaptation)}</Note>;
  return (
    <Note tone={tone}>
      Stopped by {by || "Weir"} at <span title={exactTime(at)}>{clockText(at)} UTC</span>
      {note ? <>: {note}</> : null}. {waitsFor(adaptation)}
    </Note>
  );
}

function Off({ adaptation, placement }: { adaptation: Adaptation; placement: PlacementDetail }) {
  return (
    <Empty command={<MakePlan placement={placement} primary={false} adapts />}>
      {adaptation.contract === null
        ? "No part of the bucket is enforced. "
        : "Each broker\u2019s part stays as the plan set it. "}
      Adapted to traffic, rate and size would move between brokers as publishers send; the sums
      would stay those of the plan. A plan that is approved turns it on.
    </Empty>
  );
}

const subOf = (adaptation: Adaptation | undefined) =>
  !adaptation || adaptation.state === "off" ? undefined : (
    <>
      {orderText(adaptation)}
      {adaptation.since === null ? null : (
        <>
          , since <span title={exactTime(adaptation.since)}>{clockText(adaptation.since)} UTC</span>
        </>
      )}
    </>
  );

/** Nothing for a topic that was deleted: it has no bucket any more. */
export function AdaptationPanel({ placement }: { placement: PlacementDetail }) {
  const { topic, topic_name: name } = placement;
  return topic === null ? null : <AdaptationOf placement={placement} topic={{ id: topic, name }} />;
}

function AdaptationOf({
  placement,
  topic,
}: {
  placement: PlacementDetail;
  topic: { id: string; name: string };
}) {
  const adaptation = useQuery(adaptationQuery(topic.id));
  const { data, dataUpdatedAt } = adaptation;
  const isOn = data !== undefined && data.state !== "off";
  // An order that has ended leaves parts that still come back, or wait for that.
  const isShown =
    isOn || (data !== undefined && (movedParts(data).length > 0 || data.because !== ""));
  return (
    <>
      <Panel
        title="Adapted to traffic"
        sub={subOf(data)}
        right={
          data ? (
            <>
              <AdaptationState adaptation={data} />
              <AdaptationCommands adaptation={data} topic={topic} />
            </>
          ) : undefined
        }
        className="wrapheads"
        flush
        footer={isShown ? <Conservation adaptation={data} /> : undefined}
      >
        <QueryBody query={adaptation} what="The adaptation" rows={2}>
          {(one) =>
            isShown ? (
              <>
                {one.state === "running" && !one.because ? null : (
                  <div className="body">
                    <Halted adaptation={one} />
                  </div>
                )}
                <AdaptedParts adaptation={one} />
              </>
            ) : (
              <Off adaptation={one} placement={placement} />
            )
          }
        </QueryBody>
      </Panel>
      {data && (isOn || data.decisions.length > 0) ? (
        <div className="cols c-adapt">
          <AdaptationDecisions adaptation={data} />
          {isOn ? (
            <AdaptationChart adaptation={data} topic={topic.name} now={dataUpdatedAt} />
          ) : null}
        </div>
      ) : null}
    </>
  );
}
