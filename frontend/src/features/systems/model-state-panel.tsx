/** Where the model asks for something else than agents do, and the plan that brings it to them. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { keys } from "@/api/query-keys";
import { modelStateQuery, planOfModel } from "@/api/plans";
import { Command } from "@/components/ui/command";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { Panel, QueryBody } from "@/components/ui/panel";
import { Scroll } from "@/components/ui/scroll";
import { to } from "@/lib/kinds";
import { countText } from "@/lib/numbers";

export function ModelStatePanel({
  system,
  modelVersion,
  mayPlan,
}: {
  system: string;
  modelVersion: number;
  mayPlan: boolean;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const state = useQuery(modelStateQuery({ system, differs: true }, modelVersion));
  const total = state.data?.total ?? 0;
  return (
    <Panel
      title="Model and agents"
      sub={total > 0 ? `${countText(total, "difference")}, until the next plan` : undefined}
      right={
        total > 0 && mayPlan ? (
          <Command icon="plan" onClick={() => setAsking(true)}>
            Make a plan
          </Command>
        ) : undefined
      }
    >
      <QueryBody query={state} what="What is in force" rows={3}>
        {({ results }) =>
          results.length === 0 ? (
            <p className="muted">Agents carry and serve what the model asks for.</p>
          ) : (
            <Scroll label="Differences" maxHeight={320}>
              <table className="tbl" aria-label="Model and agents">
                <thead>
                  <tr>
                    <th scope="col">What</th>
                    <th scope="col">In force</th>
                    <th scope="col">Model</th>
                  </tr>
                </thead>
                <tbody>
                  {results.map((row) => (
                    <tr key={`${row.kind} ${row.name} ${row.broker ?? ""}`}>
                      <td>{row.broker ? `${row.name} at ${row.broker}` : row.name}</td>
                      <td>{row.in_force}</td>
                      <td>{row.model}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scroll>
          )
        }
      </QueryBody>
      <ConfirmDialog
        title="Make a plan of the model"
        command="Make the plan"
        dangerous={false}
        open={asking}
        onClose={() => setAsking(false)}
        run={async () => {
          const plan = await planOfModel(system);
          await queries.invalidateQueries({ queryKey: keys.plans.all });
          await navigate(to.plan(plan.id));
        }}
      >
        <p>
          Makes a draft that brings {countText(total, "difference")} to the agents. Rates and limits
          stay as they are. Nothing changes until the draft is approved and carried out.
        </p>
      </ConfirmDialog>
    </Panel>
  );
}
