/** How many people must approve: the strictest rule that fits a plan counts. */
import type { PolicyDraft, RuleDraft } from "./policy-draft";

import { ChoiceField, NumberField } from "@/components/ui/fields";
import { Icon } from "@/components/ui/icons";
import { Panel } from "@/components/ui/panel";
import { messageFor, type FieldProblem } from "@/lib/problem";

const KINDS = [
  { value: "*", label: "Every plan" },
  { value: "allocation", label: "Allocations" },
  { value: "overlay", label: "Overlays" },
  { value: "placement", label: "Placements" },
  { value: "mapping", label: "Mappings" },
];

export type PartProps = {
  draft: PolicyDraft;
  set: (change: Partial<PolicyDraft>) => void;
  errors: readonly FieldProblem[];
  may: boolean;
};

export function RulesPanel({ draft, set, errors, may }: PartProps) {
  const change = (index: number, part: Partial<RuleDraft>) =>
    set({ rules: draft.rules.map((rule, i) => (i === index ? { ...rule, ...part } : rule)) });
  return (
    <Panel
      title="Approvals"
      sub="of all rules that fit a plan the largest number counts; the author never approves"
      right={
        may ? (
          <button
            type="button"
            className="btn sm"
            onClick={() =>
              set({
                rules: [...draft.rules, { kind: "*", brokers: "0", share: "50", approvals: "2" }],
              })
            }
          >
            <Icon name="plus" small />
            Add rule
          </button>
        ) : null
      }
    >
      <div className="stack">
        {draft.rules.map((rule, index) => {
          const at = `approval_rules[${index}]`;
          return (
            <fieldset key={index} className="rulerow" aria-label={`Rule ${index + 1}`}>
              <ChoiceField
                label="For"
                options={KINDS}
                disabled={!may}
                value={rule.kind}
                onChange={(kind) => change(index, { kind })}
                error={messageFor(errors, `${at}.kind`)}
              />
              <NumberField
                label="From brokers touched"
                unit="brokers"
                disabled={!may}
                value={rule.brokers}
                onChange={(brokers) => change(index, { brokers })}
                error={messageFor(errors, `${at}.min_brokers`)}
              />
              <NumberField
                label="From share of all brokers"
                unit="%"
                disabled={!may}
                value={rule.share}
                onChange={(share) => change(index, { share })}
                error={messageFor(errors, `${at}.min_share`)}
              />
              <NumberField
                label="Approvals"
                unit="people"
                disabled={!may}
                value={rule.approvals}
                onChange={(approvals) => change(index, { approvals })}
                error={messageFor(errors, `${at}.approvals`) ?? messageFor(errors, at)}
              />
              {may && draft.rules.length > 1 ? (
                <button
                  type="button"
                  className="iconbtn"
                  aria-label={`Remove rule ${index + 1}`}
                  onClick={() => set({ rules: draft.rules.filter((_, i) => i !== index) })}
                >
                  <Icon name="trash" small />
                </button>
              ) : null}
            </fieldset>
          );
        })}
      </div>
    </Panel>
  );
}
