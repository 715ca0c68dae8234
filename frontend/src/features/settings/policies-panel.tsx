/** What plans of a system need: approvals, windows, pace, thresholds; the default or one's own. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { PolicyForm } from "./policy-form";

import { policyQuery, policyUpdate } from "@/api/policies";
import { keys } from "@/api/query-keys";
import { useSystems } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { ConfirmDialog, Note } from "@/components/ui/dialogs";
import { ChoiceField } from "@/components/ui/fields";
import { Panel, QueryBody } from "@/components/ui/panel";
import { tell } from "@/components/ui/toast";

const DEFAULT = "default";

export function PoliciesPanel() {
  const queries = useQueryClient();
  const systems = useSystems().data?.results ?? [];
  const [chosen, setChosen] = useState(DEFAULT);
  const [inheriting, setInheriting] = useState(false);
  const system = chosen === DEFAULT ? null : chosen;
  const policy = useQuery(policyQuery(system));
  const name = systems.find((row) => row.id === system)?.name ?? "the installation";
  const inherit = async () => {
    if (policy.data === undefined) return;
    await policyUpdate(policy.data.id, policy.data.version, { inherits: true });
    await queries.invalidateQueries({ queryKey: keys.policies.all });
    tell(`${name} follows the installation's default`);
  };
  return (
    <>
      <Panel title="Policies" sub="what a plan needs before it may run">
        <div style={{ maxWidth: 420 }}>
          <ChoiceField
            label="Policy of"
            value={chosen}
            onChange={setChosen}
            options={[
              { value: DEFAULT, label: "The installation (default)" },
              ...systems.map((row) => ({ value: row.id, label: row.name })),
            ]}
          />
        </div>
        {policy.data?.inherits && system !== null ? (
          <Note>
            {name} follows the installation&apos;s default. The first change saved here gives it a
            policy of its own.
          </Note>
        ) : null}
        {policy.data && system !== null && !policy.data.inherits ? (
          <p style={{ marginTop: 10 }}>
            <Command small icon="back" onClick={() => setInheriting(true)}>
              Follow the default again
            </Command>
          </p>
        ) : null}
      </Panel>
      <QueryBody query={policy} what="The policy" rows={8}>
        {(data) => <PolicyForm key={`${data.id} ${data.version}`} policy={data} name={name} />}
      </QueryBody>
      <ConfirmDialog
        title={`Follow the default again`}
        command="Follow the default again"
        open={inheriting}
        onClose={() => setInheriting(false)}
        run={inherit}
      >
        <p>
          The rules, windows and thresholds of <b>{name}</b> are no longer used; those of the
          installation hold from now on, also for plans that are already in review.
        </p>
      </ConfirmDialog>
    </>
  );
}
