/** How many people must approve: the strictest rule that fits a plan counts. */
import { DraftRows } from "./draft-rows";
import type { PolicyDraft } from "./policy-draft";

import { ChoiceField, NumberField } from "@/components/ui/fields";
import { planKind, planKinds } from "@/lib/computations";
import type { FieldProblem } from "@/lib/problem";

export type PartProps = {
  draft: PolicyDraft;
  set: (change: Partial<PolicyDraft>) => void;
  errors: readonly FieldProblem[];
  may: boolean;
};

const EVERY = "*";

/** Every plan, and the kinds there are; a rule may name one that nobody makes any more. */
function kindsFor(kind: string) {
  const known = planKinds();
  const left = kind === EVERY || known.some((one) => one.kind === kind) ? [] : [planKind(kind)];
  return [
    { value: EVERY, label: "Every plan" },
    ...[...known, ...left].map((one) => ({ value: one.kind, label: one.many })),
  ];
}

export function RulesPanel({ draft, set, errors, may }: PartProps) {
  return (
    <DraftRows
      title="Approvals"
      sub="of all rules that fit a plan the largest number counts; the author never approves"
      noun="rule"
      field="approval_rules"
      rows={draft.rules}
      onRows={(rules) => set({ rules })}
      fresh={{ kind: EVERY, brokers: "0", share: "50", approvals: "2" }}
      least={1}
      errors={errors}
      may={may}
    >
      {({ row, change, wrong }) => (
        <>
          <ChoiceField
            label="For"
            options={kindsFor(row.kind)}
            disabled={!may}
            value={row.kind}
            onChange={(kind) => change({ kind })}
            error={wrong("kind")}
          />
          <NumberField
            label="From brokers touched"
            unit="brokers"
            disabled={!may}
            value={row.brokers}
            onChange={(brokers) => change({ brokers })}
            error={wrong("min_brokers")}
          />
          <NumberField
            label="From share of all brokers"
            unit="%"
            disabled={!may}
            value={row.share}
            onChange={(share) => change({ share })}
            error={wrong("min_share")}
          />
          <NumberField
            label="Approvals"
            unit="people"
            disabled={!may}
            value={row.approvals}
            onChange={(approvals) => change({ approvals })}
            error={wrong("approvals") ?? wrong()}
          />
        </>
      )}
    </DraftRows>
  );
}
