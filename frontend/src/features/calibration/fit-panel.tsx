/** One fit: coefficients now and fitted, what to apply, and how to take it back. */
import { useState } from "react";

import { ApplyDialog } from "./apply-dialog";
import { CoefficientTable } from "./coefficient-table";
import { suggested } from "./coefficients";
import { IntervalLegend } from "./interval-bar";
import { ResidualChart } from "./residual-chart";

import { useFitDecision, type FitCase, type FitDetail } from "@/api/calibration";
import type { Schemas } from "@/api/client";
import { Command } from "@/components/ui/command";
import { ConfirmDialog, Note } from "@/components/ui/dialogs";
import { Panel } from "@/components/ui/panel";
import { Badge, StateBadge } from "@/components/ui/state-badge";
import { tell } from "@/components/ui/toast";
import { countText, fixed, percentText } from "@/lib/numbers";
import { clockText } from "@/lib/time";

type Asking = "apply" | "undo" | "discard" | null;

export function FitPanel({ fit }: { fit: FitDetail }) {
  const decision = useFitDecision(fit);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => new Set(suggested(fit.cases)));
  const [asking, setAsking] = useState<Asking>(null);
  const may = (name: Schemas["FitCommandEnum"]) => fit.allowed_commands.includes(name);
  const toggle = (id: string) =>
    setChosen((old) => {
      const next = new Set(old);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  const close = () => setAsking(null);
  const advice = fit.cases.flatMap((one) =>
    one.advice.map((entry) => ({ ...entry, broker: one.broker, resource: one.resource })),
  );
  return (
    <div className="stack">
      <Panel
        title={`Fit ${fit.name}`}
        sub={`${clockText(fit.since)} to ${clockText(fit.until)} UTC, means of ${fixed(fit.window_s)} s`}
        right={
          <>
            <StateBadge state={fit.state} />
            {may("discard") ? (
              <Command small onClick={() => setAsking("discard")}>
                Discard
              </Command>
            ) : null}
            {may("undo") ? (
              <Command small icon="back" onClick={() => setAsking("undo")}>
                Undo
              </Command>
            ) : null}
            {may("apply") ? (
              <Command
                small
                primary
                onClick={() => setAsking("apply")}
                disabled={chosen.size === 0}
                reason="Choose at least one coefficient."
              >
                Apply {fixed(chosen.size)} selected
              </Command>
            ) : null}
          </>
        }
      >
        <p className="lead">
          {fixed(fit.identified_count)} of {countText(fit.coefficient_count, "coefficient")} are
          fixed by what was measured to about a half of their value; only those are selected.
          {fit.decided_by ? ` Decided by ${fit.decided_by}.` : ""}
        </p>
        <IntervalLegend />
      </Panel>
      {advice.length > 0 ? (
        <Panel
          title="Operating points that are missing"
          sub="measure these for some minutes, then fit again"
        >
          <ul className="why">
            {advice.map((entry) => (
              <li key={`${entry.broker} ${entry.resource} ${entry.sentence}`}>
                <b>{entry.broker}</b>: {entry.sentence} It tells what{" "}
                {entry.tells
                  .map((term) =>
                    term.kind === "class"
                      ? `a consumer of ${term.name}`
                      : `a message of ${term.name}`,
                  )
                  .join(" and ")}{" "}
                costs.
              </li>
            ))}
          </ul>
        </Panel>
      ) : null}
      {fit.cases.map((one) => (
        <CasePanel
          key={`${one.broker} ${one.resource}`}
          one={one}
          chosen={chosen}
          toggle={may("apply") ? toggle : undefined}
        />
      ))}
      <div
        className="cols"
        style={{ gridTemplateColumns: "repeat(auto-fill, minmax(380px, 1fr))" }}
      >
        {fit.cases.map((one) => (
          <ResidualChart key={`${one.broker} ${one.resource}`} one={one} />
        ))}
      </div>
      <ApplyDialog
        fit={fit}
        chosen={chosen}
        open={asking === "apply"}
        onClose={close}
        run={async (reason) => {
          await decision.apply.mutateAsync({ coefficients: [...chosen], reason });
          tell(`${fit.name} is applied`);
        }}
      />
      <ConfirmDialog
        title={`Undo ${fit.name}`}
        command="Undo"
        askReason
        open={asking === "undo"}
        onClose={close}
        run={(reason) => decision.undo.mutateAsync(reason)}
      >
        <p>
          The {countText(fit.applied_count, "cost")} that {fit.name} wrote get the values that they
          had before. What somebody edited since is left alone, and refused by name.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        title={`Discard ${fit.name}`}
        command="Discard"
        askReason
        open={asking === "discard"}
        onClose={close}
        run={(reason) => decision.discard.mutateAsync(reason)}
      >
        <p>The fit stays in the list, but cannot be applied any more. The model does not change.</p>
      </ConfirmDialog>
    </div>
  );
}

function CasePanel({
  one,
  chosen,
  toggle,
}: {
  one: FitCase;
  chosen: ReadonlySet<string>;
  toggle?: (id: string) => void;
}) {
  const explained =
    one.r_squared === null ? "no spread" : `${percentText(one.r_squared, 1)} explained`;
  return (
    <Panel
      title={`${one.broker}, ${one.resource}`}
      sub={
        one.measure === "cpu"
          ? `${countText(one.points, "window")}, ${explained}`
          : `mean sizes over ${countText(one.points, "window")}`
      }
      right={
        one.enough ? null : (
          <Badge tone="warn" icon="alert">
            {one.points === 0 ? "Nothing measured" : "Too few windows"}
          </Badge>
        )
      }
      flush
    >
      <CoefficientTable one={one} chosen={chosen} toggle={toggle} />
      {one.points === 0 && one.measure === "cpu" ? (
        <Note>
          No load of {one.broker} was measured in this time. Its agent must run, and report the
          processor of the broker.
        </Note>
      ) : null}
    </Panel>
  );
}
