/** A policy as it is typed: numbers stay text until they are saved, shares are percent. */
import type { ApprovalRule, Policy, Window } from "@/api/policies";
import { parseNumber } from "@/components/ui/fields";
import type { FieldProblem } from "@/lib/problem";

export type RuleDraft = { kind: string; brokers: string; share: string; approvals: string };
export type WindowDraft = {
  effect: string;
  cron: string;
  minutes: string;
  timezone: string;
  note: string;
};

export type PolicyDraft = {
  rules: RuleDraft[];
  windows: WindowDraft[];
  autoShare: string;
  autoChange: string;
  execute: string;
  executeShare: string;
  executeRate: string;
  executeConsumers: string;
  executePerDay: string;
  executeAfter: string;
  parallel: string;
  pace: string;
  rollBackPace: string;
  threshold: string;
  judgedBand: string;
  dwell: string;
  perConsumer: string;
  perRate: string;
  ttl: string;
  pauses: boolean;
  removeAfter: string;
  demandBand: string;
  judgeWindow: string;
  rateControl: boolean;
  band: string;
};

/** Without the rounding dust of 0.07 * 100. */
const plain = (value: number) => String(Number(value.toPrecision(10)));
const percent = (share: number | undefined) => plain((share ?? 0) * 100);

export const draftOf = (policy: Policy): PolicyDraft => ({
  rules: (policy.approval_rules ?? []).map((rule) => ({
    kind: rule.kind,
    brokers: plain(rule.min_brokers),
    share: percent(rule.min_share),
    approvals: plain(rule.approvals),
  })),
  windows: (policy.windows ?? []).map((window) => ({
    effect: window.effect,
    cron: window.cron,
    minutes: plain(window.duration_s / 60),
    timezone: window.timezone,
    note: window.note,
  })),
  pauses: policy.pause_when_window_closes ?? true,
  autoShare: percent(policy.auto_approve_max_share),
  autoChange: percent(policy.auto_approve_max_change),
  execute: policy.auto_execute ?? "off",
  executeShare: percent(policy.auto_execute_max_share),
  executeRate: percent(policy.auto_execute_max_rate_change),
  executeConsumers: percent(policy.auto_execute_max_consumers_change),
  executePerDay: plain(policy.auto_execute_per_day ?? 0),
  executeAfter: plain(policy.auto_execute_after ?? 0),
  parallel: plain(policy.max_parallel_actions ?? 1),
  pace: plain(policy.pace_s ?? 0),
  rollBackPace: plain(policy.roll_back_pace_s ?? 0),
  threshold: percent(policy.enactment_threshold),
  judgedBand: percent(policy.enactment_band),
  dwell: plain(policy.enactment_dwell_s ?? 0),
  perConsumer: plain(policy.churn_per_consumer ?? 0),
  perRate: plain(policy.churn_per_rate_change ?? 0),
  ttl: plain((policy.approval_ttl_s ?? 0) / 3600),
  removeAfter: plain((policy.remove_after_s ?? 0) / 60),
  demandBand: percent(policy.demand_band),
  judgeWindow: plain((policy.judge_window_s ?? 0) / 60),
  rateControl: policy.rate_control ?? false,
  band: percent(policy.rate_control_band),
});

export type PolicyBody = {
  approval_rules: ApprovalRule[];
  windows: Window[];
  pause_when_window_closes: boolean;
  auto_approve_max_share: number;
  auto_approve_max_change: number;
  auto_execute: NonNullable<Policy["auto_execute"]>;
  auto_execute_max_share: number;
  auto_execute_max_rate_change: number;
  auto_execute_max_consumers_change: number;
  auto_execute_per_day: number;
  auto_execute_after: number;
  max_parallel_actions: number;
  pace_s: number;
  roll_back_pace_s: number;
  enactment_threshold: number;
  enactment_band: number;
  enactment_dwell_s: number;
  churn_per_consumer: number;
  churn_per_rate_change: number;
  approval_ttl_s: number;
  remove_after_s: number;
  demand_band: number;
  judge_window_s: number;
  rate_control: boolean;
  rate_control_band: number;
};

/** What is sent, or which fields hold no number. */
export function bodyOf(draft: PolicyDraft): { body: PolicyBody } | { errors: FieldProblem[] } {
  const errors: FieldProblem[] = [];
  const number = (text: string, field: string, scale = 1): number => {
    const value = parseNumber(text);
    if (value === null || value === undefined) {
      errors.push({ field, message: "A number is needed here." });
      return 0;
    }
    return Number((value * scale).toPrecision(12));
  };
  const body: PolicyBody = {
    approval_rules: draft.rules.map((rule, i) => ({
      kind: rule.kind,
      min_brokers: number(rule.brokers, `approval_rules[${i}].min_brokers`),
      min_share: number(rule.share, `approval_rules[${i}].min_share`, 0.01),
      approvals: number(rule.approvals, `approval_rules[${i}].approvals`),
    })),
    windows: draft.windows.map((window, i) => ({
      effect: window.effect as Window["effect"],
      cron: window.cron,
      duration_s: Math.round(number(window.minutes, `windows[${i}].duration_s`, 60)),
      timezone: window.timezone,
      note: window.note,
    })),
    pause_when_window_closes: draft.pauses,
    auto_approve_max_share: number(draft.autoShare, "auto_approve_max_share", 0.01),
    auto_approve_max_change: number(draft.autoChange, "auto_approve_max_change", 0.01),
    auto_execute: draft.execute as NonNullable<Policy["auto_execute"]>,
    auto_execute_max_share: number(draft.executeShare, "auto_execute_max_share", 0.01),
    auto_execute_max_rate_change: number(draft.executeRate, "auto_execute_max_rate_change", 0.01),
    auto_execute_max_consumers_change: number(
      draft.executeConsumers,
      "auto_execute_max_consumers_change",
      0.01,
    ),
    auto_execute_per_day: number(draft.executePerDay, "auto_execute_per_day"),
    auto_execute_after: number(draft.executeAfter, "auto_execute_after"),
    max_parallel_actions: number(draft.parallel, "max_parallel_actions"),
    pace_s: number(draft.pace, "pace_s"),
    roll_back_pace_s: number(draft.rollBackPace, "roll_back_pace_s"),
    enactment_threshold: number(draft.threshold, "enactment_threshold", 0.01),
    enactment_band: number(draft.judgedBand, "enactment_band", 0.01),
    enactment_dwell_s: number(draft.dwell, "enactment_dwell_s"),
    churn_per_consumer: number(draft.perConsumer, "churn_per_consumer"),
    churn_per_rate_change: number(draft.perRate, "churn_per_rate_change"),
    approval_ttl_s: Math.round(number(draft.ttl, "approval_ttl_s", 3600)),
    remove_after_s: Math.round(number(draft.removeAfter, "remove_after_s", 60)),
    demand_band: number(draft.demandBand, "demand_band", 0.01),
    judge_window_s: Math.round(number(draft.judgeWindow, "judge_window_s", 60)),
    rate_control: draft.rateControl,
    rate_control_band: number(draft.band, "rate_control_band", 0.01),
  };
  return errors.length > 0 ? { errors } : { body };
}
