/** Your decision: who has decided, what you may decide, and why not where you may not. */
import { useState } from "react";

import { usePlanCommand, type Plan, type PlanApproval, type PlanDetail } from "@/api/plans";
import { useSession } from "@/api/session";
import { Command } from "@/components/ui/command";
import { Note } from "@/components/ui/dialogs";
import { TextArea } from "@/components/ui/fields";
import { Panel } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { tell } from "@/components/ui/toast";
import { problemOf } from "@/lib/problem";
import { clockText, exactTime } from "@/lib/time";

function initials(name: string): string {
  const [first, second] = name.split(/\s+/).filter(Boolean);
  return ((first?.[0] ?? "?") + (second?.[0] ?? first?.[1] ?? "")).toUpperCase();
}

function Decision({ approval, you }: { approval: PlanApproval; you: string | undefined }) {
  const approved = approval.decision === "approve";
  return (
    <li>
      <span className={approval.person === you ? "ava sm" : "ava sm b"} aria-hidden="true">
        {initials(approval.person)}
      </span>
      <span>
        <b className="strong">{approval.person}</b>
        {approval.person === you ? ", you," : ""} {approved ? "approved" : "rejected"}
      </span>
      {approval.valid ? null : (
        <Badge tone="warn" icon="clockx" title={approval.invalid_because}>
          Lapsed
        </Badge>
      )}
      <time className="r faint" dateTime={approval.at} title={exactTime(approval.at)}>
        {clockText(approval.at)}
      </time>
      {approval.comment ? <p>{`\u201c${approval.comment}\u201d`}</p> : null}
      {approval.invalid_because ? <p>{approval.invalid_because}</p> : null}
    </li>
  );
}

/** Why no decision is asked of this person now; null where one is. */
export function whyNot(
  plan: PlanDetail,
  person: { name: string; roles: readonly string[] },
): string | null {
  if (plan.allowed_commands.includes("approve")) return null;
  switch (plan.state) {
    case "draft":
      return plan.allowed_commands.includes("submit")
        ? "It is a draft: nobody reviews it before it is sent for review."
        : "It is a draft; its author sends it for review.";
    case "pending_review":
      break;
    case "approved":
      return "Every approval that the policy asks for is given.";
    case "stale":
      return `It can no longer be approved: ${plan.stale_because || "it is stale"}`;
    case "superseded":
      return "A newer plan has taken its place.";
    case "rejected":
      return "It was rejected; a new plan starts a new review.";
    case "discarded":
      return "It was discarded.";
    case "executing":
    case "executed":
      return "It was approved and carried out.";
  }
  if (plan.author !== null && plan.author === person.name) {
    return "You made this plan; somebody else approves it.";
  }
  const own = plan.approvals.find((approval) => approval.person === person.name && approval.valid);
  if (own) return "Your approval is given; another person has to approve it too.";
  if (!person.roles.includes("approver")) {
    return "Approving needs the role approver, which you do not have.";
  }
  return "You sent this plan for review; somebody else approves it.";
}

const neededText = (plan: Plan) =>
  plan.approvals_needed === 0
    ? "none needed"
    : `${plan.approvals_given} of ${plan.approvals_needed} given`;

export function DecisionPanel({ plan }: { plan: PlanDetail }) {
  const session = useSession().data;
  const command = usePlanCommand(plan);
  const [comment, setComment] = useState("");
  const [missing, setMissing] = useState(false);
  const you = session?.display_name;
  const mayApprove = plan.allowed_commands.includes("approve");
  const mayReject = plan.allowed_commands.includes("reject");
  const because = whyNot(plan, { name: you ?? "", roles: session?.roles ?? [] });
  const hash = plan.content_hash.slice(0, 8);
  const approve = () => {
    setMissing(false);
    command.mutate(
      { command: "approve", comment: comment.trim(), content_hash: plan.content_hash },
      {
        onSuccess: (fresh) => {
          setComment("");
          tell(`Approved ${plan.name}`, `${fresh.approvals_given} of ${fresh.approvals_needed}`);
        },
      },
    );
  };
  const reject = () => {
    if (comment.trim() === "") {
      setMissing(true);
      return;
    }
    command.mutate(
      { command: "reject", comment: comment.trim() },
      { onSuccess: () => tell(`Rejected ${plan.name}`) },
    );
  };
  return (
    <Panel
      title="Your decision"
      right={
        <Badge
          tone={plan.approvals_given >= plan.approvals_needed ? "good" : "waits"}
          icon="usercheck"
        >
          {neededText(plan)}
        </Badge>
      }
    >
      <div className="decision">
        {plan.approvals.length > 0 || because === null ? (
          <ul className="ppl" aria-label="Decisions">
            {plan.approvals.map((approval) => (
              <Decision key={`${approval.person} ${approval.at}`} approval={approval} you={you} />
            ))}
            {because === null && you ? (
              <li>
                <span className="ava sm" aria-hidden="true">
                  {initials(you)}
                </span>
                <span>
                  <b className="strong">{you}</b>, you
                </span>
                <span className="r">
                  <Badge tone="waits" icon="hourglass">
                    waiting
                  </Badge>
                </span>
              </li>
            ) : null}
          </ul>
        ) : null}
        {because ? <Note>{because}</Note> : null}
        {mayApprove || mayReject ? (
          <>
            <TextArea
              label="Comment"
              hint={mayReject ? "Needed to reject; kept in the history." : "Kept in the history."}
              required={false}
              value={comment}
              onChange={(text) => {
                setComment(text);
                if (text.trim() !== "") setMissing(false);
              }}
              error={
                missing ? "Say what is missing, so that the author can plan again." : undefined
              }
            />
            <div className="decide">
              {mayApprove ? (
                <Command icon="check" primary onClick={approve} disabled={command.isPending}>
                  <span>
                    Approve hash <span className="mono">{hash}</span>
                  </span>
                </Command>
              ) : (
                <span />
              )}
              {mayReject ? (
                <Command icon="x" danger onClick={reject} disabled={command.isPending}>
                  Reject
                </Command>
              ) : null}
            </div>
          </>
        ) : null}
        {command.error ? <Note tone="bad">{problemOf(command.error).detail}</Note> : null}
        <p className="lead">
          Approval holds for hash <span className="mono">{hash}</span> and model v
          {plan.model_version} only
          {plan.expires_at ? (
            <span title={exactTime(plan.expires_at)}>, until {clockText(plan.expires_at)} UTC</span>
          ) : null}
          . {plan.policy.reason}
          {plan.policy.window_text ? ` ${plan.policy.window_text}` : ""}
        </p>
      </div>
    </Panel>
  );
}
