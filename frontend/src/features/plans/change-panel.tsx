/** The change that the plan opened at a ticketing system, and whether executing waits for it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { planChangeQuery, type Change } from "@/api/connections";
import type { PlanDetail } from "@/api/plans";
import { Note } from "@/components/ui/dialogs";
import { Panel, QueryBody } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { to } from "@/lib/kinds";
import { countText } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

const ENDED: readonly PlanDetail["state"][] = ["rejected", "superseded", "discarded"];

const ENDINGS: Record<string, string> = {
  succeeded: "closed as successful",
  failed: "closed as unsuccessful",
  cancelled: "cancelled",
};

/** Where a change stands. */
function ChangeState({ change }: { change: Change }) {
  if (change.state === "opening") {
    return (
      <Badge tone="waits" icon="hourglass">
        Being opened
      </Badge>
    );
  }
  if (change.state === "ending") {
    return (
      <Badge tone="waits" icon="hourglass">
        Being closed
      </Badge>
    );
  }
  if (change.state === "closed") {
    return (
      <Badge tone={change.ending === "succeeded" ? "good" : "idle"} icon="solved">
        {ENDINGS[change.ending] ?? "closed"}
      </Badge>
    );
  }
  if (change.approval === "approved" && !change.is_over_there) {
    return (
      <Badge tone="good" icon="check">
        Approved there
      </Badge>
    );
  }
  if (change.approval === "refused") {
    return (
      <Badge tone="bad" icon="x">
        Refused there
      </Badge>
    );
  }
  if (change.is_over_there) {
    return (
      <Badge tone="bad" icon="x">
        Ended there
      </Badge>
    );
  }
  if (!change.is_approval_needed) {
    return (
      <Badge tone="idle" icon="solved">
        Open there
      </Badge>
    );
  }
  return (
    <Badge tone="waits" icon="hourglass">
      Waits for approval there
    </Badge>
  );
}

export function ChangePanel({ plan }: { plan: PlanDetail }) {
  const query = useQuery(planChangeQuery(plan.id, !ENDED.includes(plan.state)));
  const answer = query.data;
  // Where nobody keeps changes the page stays as it was.
  if (answer === undefined && !query.error) return null;
  if (answer?.change === null && answer.connection === null) return null;
  return (
    <Panel
      title="Change"
      right={answer?.change ? <ChangeState change={answer.change} /> : undefined}
    >
      <QueryBody query={query} what="The change">
        {({ change, connection, connection_name, because, waiting }) => (
          <>
            {change === null ? (
              <p className="muted">
                {plan.state === "draft" ? "A change is opened in" : "None was opened in"}{" "}
                {!connection ? (
                  connection_name
                ) : (
                  <Link className="link" to={to.connection(connection)}>
                    {connection_name}
                  </Link>
                )}
                {plan.state === "draft" ? " when the plan is sent for review." : "."}
              </p>
            ) : (
              <dl className="kv">
                <dt>Number</dt>
                <dd>
                  {change.link !== "" ? (
                    <a className="link" href={change.link} target="_blank" rel="noreferrer">
                      {change.number || "open it"}
                    </a>
                  ) : (
                    change.number || <span className="faint">not known yet</span>
                  )}
                </dd>
                <dt>Kept in</dt>
                <dd>
                  <Link className="link" to={to.connection(change.connection)}>
                    {change.connection_name}
                  </Link>
                </dd>
                <dt>State there</dt>
                <dd>
                  {change.state_there || <span className="faint">not read yet</span>}
                  {change.looked_at ? (
                    <span className="faint" title={exactTime(change.looked_at)}>
                      {" "}
                      at {clockText(change.looked_at)} UTC
                    </span>
                  ) : null}
                </dd>
                {change.starts_at && change.ends_at ? (
                  <>
                    <dt>Planned there</dt>
                    <dd title={`${exactTime(change.starts_at)} to ${exactTime(change.ends_at)}`}>
                      {clockText(change.starts_at)} to {clockText(change.ends_at)} UTC
                    </dd>
                  </>
                ) : null}
              </dl>
            )}
            {because !== "" ? <Note tone="warn">{because}</Note> : null}
            {change && change.problem !== "" && !because.includes(change.problem) ? (
              <Note tone="warn">It cannot be read. {change.problem}</Note>
            ) : null}
            {waiting.length > 0 ? (
              <p className="muted">
                {countText(waiting.length, "message waits", "messages wait")} to be sent.{" "}
                {waiting[0]?.problem}
              </p>
            ) : null}
          </>
        )}
      </QueryBody>
    </Panel>
  );
}
