/** The commands of a plan that is not being carried out: what the API allows is drawn, nothing else. */
import { Menu } from "@mantine/core";
import { useState } from "react";

import type { Schemas } from "@/api/client";
import { exportAddress, useExecutePlan, usePlanCommand, type PlanDetail } from "@/api/plans";
import { Command } from "@/components/ui/command";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { Icon } from "@/components/ui/icons";
import { tell, tellFailure } from "@/components/ui/toast";
import { countText } from "@/lib/numbers";
import { clockText } from "@/lib/time";

export function ExportMenu({ plan }: { plan: PlanDetail }) {
  return (
    <Menu position="bottom-end" width={210}>
      <Menu.Target>
        <button type="button" className="btn ghost">
          <Icon name="download" small />
          Export
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component="a" href={exportAddress(plan.id, "json")} download>
          JSON
          <small>the document that the hash is about</small>
        </Menu.Item>
        <Menu.Item component="a" href={exportAddress(plan.id, "text")} download>
          Text
          <small>for people, steps with their undo</small>
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Why an approved plan cannot be executed this minute; undefined while it can. */
export function executeReason(plan: PlanDetail): string | undefined {
  if (plan.policy.window_open) return undefined;
  const next = plan.policy.next_window_at;
  return next
    ? `outside the maintenance windows; the next opens ${clockText(next)} UTC`
    : "outside the maintenance windows, and none is planned";
}

function WhatExecuteDoes({ plan }: { plan: PlanDetail }) {
  const radius = plan.blast_radius;
  return (
    <>
      <p>
        {countText(radius.actions, "action")} in {countText(plan.steps.length, "step")}
        {radius.brokers > 0
          ? ` on ${countText(radius.brokers, "broker")}. ${countText(radius.consumers_released, "consumer")} released, ${countText(radius.consumers_admitted, "consumer")} newly admitted.`
          : ": no broker changes, and no consumer is released or admitted."}
      </p>
      <p style={{ marginTop: 8 }}>
        Hash, model version and approvals are checked again first. It can be paused, stopped after
        the running step and rolled back at any time while it runs.
      </p>
    </>
  );
}

function WhatDiscardLoses({ plan }: { plan: PlanDetail }) {
  return (
    <>
      <p>
        {plan.name} can then no longer be approved or executed, and cannot be taken back.
        {plan.approvals_given > 0
          ? ` ${countText(plan.approvals_given, "approval is", "approvals are")} lost with it.`
          : ""}
      </p>
      <p style={{ marginTop: 8 }}>
        Its content and its history stay readable. What is in force stays as it is
        {plan.source.name ? `; ${plan.source.name} can be planned again` : ""}.
      </p>
    </>
  );
}

/** Why a draft cannot be sent for review; undefined where it can. */
export function submitReason(plan: PlanDetail): string | undefined {
  if (!plan.would_overload || plan.accepted_overload) return undefined;
  return `${plan.would_overload}: an approver has to accept that first`;
}

export function PlanCommands({
  plan,
  onDryRun,
  dryRunning,
}: {
  plan: PlanDetail;
  onDryRun: () => void;
  dryRunning: boolean;
}) {
  const command = usePlanCommand(plan);
  const execute = useExecutePlan(plan);
  const [asking, setAsking] = useState<"accept" | "discard" | "execute" | null>(null);
  const may = (name: Schemas["PlanCommandEnum"]) => plan.allowed_commands.includes(name);
  const simple = (name: "submit" | "withdraw", done: string) => () =>
    command.mutate(
      { command: name },
      {
        onSuccess: () => tell(`${done} ${plan.name}`),
        onError: (error) => tellFailure(`Not done: ${plan.name}`, error),
      },
    );
  const reason = executeReason(plan);
  const unsent = submitReason(plan);
  return (
    <>
      <ExportMenu plan={plan} />
      {may("dry_run") ? (
        <Command icon="play" onClick={onDryRun} disabled={dryRunning} reason="The dry run goes on.">
          Dry run
        </Command>
      ) : null}
      {may("discard") ? (
        <Command icon="trash" onClick={() => setAsking("discard")}>
          Discard
        </Command>
      ) : null}
      {may("withdraw") ? (
        <Command icon="back" onClick={simple("withdraw", "Took back")} disabled={command.isPending}>
          Take back
        </Command>
      ) : null}
      {may("accept_overload") ? (
        <Command icon="alert" onClick={() => setAsking("accept")}>
          Accept overload
        </Command>
      ) : null}
      {may("submit") ? (
        <Command
          icon="send"
          primary
          onClick={simple("submit", "Sent for review:")}
          disabled={command.isPending || unsent !== undefined}
          reason={unsent}
        >
          Send for review
        </Command>
      ) : null}
      {may("execute") ? (
        <Command
          icon="play"
          primary
          onClick={() => setAsking("execute")}
          disabled={reason !== undefined}
          reason={reason}
        >
          Execute
        </Command>
      ) : null}
      <ConfirmDialog
        title={`Execute ${plan.name}`}
        command="Execute"
        dangerous={false}
        open={asking === "execute"}
        onClose={() => setAsking(null)}
        run={() => execute.mutateAsync()}
      >
        <WhatExecuteDoes plan={plan} />
      </ConfirmDialog>
      <ConfirmDialog
        title={`Accept the overload of ${plan.name}`}
        command="Accept overload"
        needsReason
        open={asking === "accept"}
        onClose={() => setAsking(null)}
        run={(why) => command.mutateAsync({ command: "accept-overload", reason: why })}
      >
        <p>
          By the model, {plan.would_overload}. Accepted, the draft can be sent for review; approving
          it is another decision.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        title={`Discard ${plan.name}`}
        command="Discard"
        askReason
        open={asking === "discard"}
        onClose={() => setAsking(null)}
        run={(why) => command.mutateAsync({ command: "discard", reason: why })}
      >
        <WhatDiscardLoses plan={plan} />
      </ConfirmDialog>
    </>
  );
}
