/** Identity, facts and commands of a mapping. */
import { useState } from "react";
import { Link, useNavigate } from "react-router";

import { mappingsAt } from "./addresses";
import { MakePlan } from "./make-plan";
import { eachText } from "./mappable";
import { streamsText, weightsText } from "./weights";
import { WeightsDialog } from "./weights-dialog";

import type { MappingDetail } from "@/api/mappings";
import { useRerun } from "@/api/runs";
import { useSystem } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Icon } from "@/components/ui/icons";
import { PageHead, type Fact } from "@/components/ui/page";
import { Badge } from "@/components/ui/state-badge";
import { tell, tellFailure } from "@/components/ui/toast";
import { to } from "@/lib/kinds";
import { countText, fixed } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";
import { methodWord } from "@/lib/words";

function factsOf(mapping: MappingDetail): Fact[] {
  const { outcome, note, interests, users } = mapping;
  const { unmapped } = outcome;
  return [
    {
      key: "flows",
      icon: "rss",
      text:
        `${countText(mapping.flows, "flow")}, ${fixed(mapping.wanted_flows)} wanted` +
        // Where no map was in force none had a stream.
        (unmapped > 0 && mapping.former_cost !== null
          ? `, ${fixed(unmapped)} of them without a stream`
          : ""),
    },
    {
      key: "users",
      icon: "users",
      text: `${countText(users, "user")}, ${eachText(interests, users)}`,
    },
    { key: "streams", icon: "stack", text: streamsText(mapping.streams, mapping.groups) },
    { key: "weights", icon: "scale", text: weightsText(outcome.weights) },
    {
      key: "run",
      icon: "play",
      text: (
        <>
          run <Link to={to.run(mapping.run)}>R-{mapping.run_number}</Link>,{" "}
          {methodWord(mapping.method)}, model v{fixed(mapping.model_version)}
        </>
      ),
    },
    {
      key: "time",
      icon: "clock",
      text: (
        <span title={exactTime(mapping.created_at)}>
          {mapping.asked_by ?? "Weir"}, {clockText(mapping.created_at)} UTC
        </span>
      ),
    },
    ...(note ? [{ key: "note", icon: "info" as const, text: note }] : []),
  ];
}

export function MappingHead({ mapping }: { mapping: MappingDetail }) {
  const { system: systemId, name } = mapping;
  const navigate = useNavigate();
  const system = useSystem(systemId);
  const rerun = useRerun();
  const [weighing, setWeighing] = useState(false);
  const mayMap = system.data?.allowed_commands.includes("optimize") ?? false;
  const again = () => {
    rerun.mutate(mapping.run, {
      onSuccess: (run) => {
        tell(`Started R-${run.number}`, "Same snapshot, method, parameters and seed.");
        void navigate(to.run(run.id));
      },
      onError: (error) => tellFailure("Not started", error),
    });
  };
  return (
    <>
      <PageHead
        title={`Mapping ${name}`}
        crumb={name}
        crumbs={[
          { label: system.data?.name ?? mapping.system_name, to: to.topology(systemId) },
          { label: "Mapping", to: mappingsAt.list(systemId) },
        ]}
        state={
          mapping.complete ? null : (
            <Badge
              tone="warn"
              icon="clockx"
              title="The time limit ended the search, or the weighing of fewer and more moves: these are the best maps until then."
            >
              Time limit
            </Badge>
          )
        }
        facts={factsOf(mapping)}
        commands={
          <>
            <Command icon="adjustments" onClick={() => setWeighing(true)}>
              Weights
            </Command>
            {mapping.allowed_commands.includes("rerun") ? (
              <Command icon="refresh" onClick={again} disabled={rerun.isPending}>
                Run again
              </Command>
            ) : null}
            {mayMap ? (
              <Link className="btn" to={mappingsAt.ask(systemId)}>
                <Icon name="grid" small />
                Map flows
              </Link>
            ) : null}
            <MakePlan mapping={mapping} />
          </>
        }
      />
      <WeightsDialog system={systemId} open={weighing} onClose={() => setWeighing(false)} />
    </>
  );
}
