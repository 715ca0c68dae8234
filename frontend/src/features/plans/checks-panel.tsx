/** What was looked at just now, the last dry run, and how much of the system the plan touches. */
import { useState } from "react";

import type { PlanCheck, PlanDetail } from "@/api/plans";
import { Icon, type IconName } from "@/components/ui/icons";
import { Panel } from "@/components/ui/panel";
import { fixed, rateText } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

export type DryRun = { checks: PlanCheck[]; at: string };

const ICONS: Record<PlanCheck["state"], { icon: IconName; word: string }> = {
  pass: { icon: "solved", word: "passes" },
  fail: { icon: "x", word: "fails" },
  warn: { icon: "alert", word: "warns" },
  unknown: { icon: "clock", word: "not known" },
};

function Checks({ checks, label }: { checks: readonly PlanCheck[]; label: string }) {
  return (
    <ul className="checks" aria-label={label}>
      {checks.map((check) => (
        <li key={check.name} className={check.state}>
          <Icon name={ICONS[check.state].icon} />
          <span>
            <span className="vh">{ICONS[check.state].word}: </span>
            {check.title} {check.detail ? <span>{check.detail}</span> : null}
          </span>
        </li>
      ))}
    </ul>
  );
}

const BOUNDS = 4;

/** How far a quantity is on its way from the middle to a bound; what is not measured comes last. */
function strain({ low, high, measured }: PlanDetail["envelope"][number]): number {
  if (measured === null || high <= low) return -1;
  return Math.abs((measured - (low + high) / 2) / ((high - low) / 2));
}

/** What the plan assumes while it is in force, what is nearest to its bounds first. */
function Envelope({ plan }: { plan: PlanDetail }) {
  const [all, setAll] = useState(false);
  const bounds = [...plan.envelope].sort((a, b) => strain(b) - strain(a));
  if (bounds.length === 0) return null;
  const shown = all ? bounds : bounds.slice(0, BOUNDS);
  const show = (value: number, unit: string) => (unit === "msg/s" ? rateText(value) : fixed(value));
  return (
    <>
      <h3 className="checkshead">Assumed while it is in force</h3>
      <dl className="kv">
        {shown.map((bound) => (
          <div key={bound.name} style={{ display: "contents" }}>
            <dt>{bound.name}</dt>
            <dd>
              {bound.measured === null ? null : <>{show(bound.measured, bound.unit)} now, </>}
              <span className="muted">
                {bound.low > 0 ? `${show(bound.low, bound.unit)} to ` : "at most "}
                {show(bound.high, bound.unit)}
              </span>
              <span className="u">{bound.unit}</span>
            </dd>
          </div>
        ))}
      </dl>
      {bounds.length > BOUNDS && !all ? (
        <button type="button" className="link" onClick={() => setAll(true)}>
          Show all {fixed(bounds.length)}
        </button>
      ) : null}
    </>
  );
}

/** How many of one look at the plan pass, or fail. */
function Count({ checks }: { checks: readonly PlanCheck[] }) {
  const passed = checks.filter((check) => check.state === "pass").length;
  const failed = checks.filter((check) => check.state === "fail").length;
  if (checks.length === 0) return null;
  return (
    <span className={failed > 0 ? "down strong" : passed === checks.length ? "up strong" : ""}>
      {failed > 0 ? `${failed} of ${checks.length} fail` : `${passed} of ${checks.length} pass`}
    </span>
  );
}

export function ChecksPanel({ plan, dryRun }: { plan: PlanDetail; dryRun: DryRun | null }) {
  return (
    <Panel
      title="Checks"
      right={plan.checks.length === 0 ? undefined : <Count checks={plan.checks} />}
    >
      {plan.checks.length === 0 && dryRun === null ? (
        <p className="muted">Nothing is checked any more: this plan has ended.</p>
      ) : (
        <Checks checks={plan.checks} label="Checks" />
      )}
      {dryRun ? (
        <>
          <h3 className="checkshead">
            Dry run, <span title={exactTime(dryRun.at)}>{clockText(dryRun.at)} UTC</span>:{" "}
            {/* The same checks, looked at once more: never added to those above. */}
            <Count checks={dryRun.checks} />
          </h3>
          <Checks checks={dryRun.checks} label="Dry run" />
        </>
      ) : null}
      <Envelope plan={plan} />
    </Panel>
  );
}

export function BlastRadiusPanel({ plan }: { plan: PlanDetail }) {
  const radius = plan.blast_radius;
  const rows: [string, string][] = [
    [
      "Brokers touched",
      radius.brokers === 0 ? "none" : `${fixed(radius.brokers)} of ${fixed(radius.brokers_total)}`,
    ],
    ["Topics touched", `${fixed(radius.topics)} of ${fixed(radius.topics_total)}`],
    ...(radius.links > 0 ? [["Links moved", fixed(radius.links)] as [string, string]] : []),
    ["Actions", fixed(radius.actions)],
    ["Consumers newly admitted", fixed(radius.consumers_admitted)],
    ["Consumers released", fixed(radius.consumers_released)],
  ];
  return (
    <Panel title="Blast radius">
      <dl className="kv">
        {rows.map(([name, value]) => (
          <div key={name} style={{ display: "contents" }}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
