/** Identity, facts and commands of a placement. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";

import { placementsAt } from "./addresses";
import { MakePlan } from "./make-plan";
import { delay, SloBadge, sloText } from "./sentences";

import { roundsQuery, type PlacementDetail } from "@/api/placements";
import { useRerun } from "@/api/runs";
import { useSystem } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Icon } from "@/components/ui/icons";
import { PageHead, type Fact } from "@/components/ui/page";
import { Badge } from "@/components/ui/state-badge";
import { tell, tellFailure } from "@/components/ui/toast";
import { to } from "@/lib/kinds";
import { countText, fixed, rateText, significant } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";
import { methodWord } from "@/lib/words";

/** What waits for tokens were computed by; of a what-if nothing was recorded. */
function recordedText(bucket: number | null | undefined, isWhatIf: boolean): string {
  if (bucket === null || bucket === undefined) return "";
  return isWhatIf ? ", as bursty as recorded" : `, recorded: ${significant(bucket, 3)} messages`;
}

function factsOf(placement: PlacementDetail, isWhatIf: boolean): Fact[] {
  const { outcome, note, based_on: basedOn, round } = placement;
  const { contract, today } = outcome;
  return [
    {
      key: "rate",
      icon: "rss",
      text: `${rateText(contract.rate_per_s)} msg/s from ${countText(outcome.publishers, "publisher")}${contract.batch > 1 ? `, ${fixed(contract.batch)} at a time` : ""}`,
    },
    {
      key: "tokens",
      icon: "bucket",
      text: `${rateText(contract.token_rate_per_s)} tokens/s, bucket ${fixed(contract.bucket)} tokens${recordedText(contract.recorded_bucket, isWhatIf)}`,
    },
    { key: "slo", icon: "target", text: sloText(contract) ?? "no SLO" },
    {
      key: "today",
      icon: "server",
      text:
        today === null
          ? "at no broker today"
          : `today on ${countText(today.brokers, "broker")}, ${delay(today.p99_s)}`,
    },
    {
      key: "run",
      icon: "play",
      text: (
        <>
          run <Link to={to.run(placement.run)}>R-{placement.run_number}</Link>,{" "}
          {methodWord(placement.method)}, model v{fixed(placement.model_version)}
        </>
      ),
    },
    {
      key: "time",
      icon: "clock",
      text: (
        <span title={exactTime(placement.created_at)}>
          {placement.asked_by ?? "Weir"}, {clockText(placement.created_at)} UTC
        </span>
      ),
    },
    ...(basedOn
      ? [
          {
            key: "round",
            icon: "versions" as const,
            text: (
              <>
                round {fixed(round)}, by what was measured under{" "}
                <Link to={placementsAt.one(placement.system, basedOn.id)}>{basedOn.name}</Link>
              </>
            ),
          },
        ]
      : []),
    ...(note ? [{ key: "note", icon: "info" as const, text: note }] : []),
  ];
}

export function PlacementHead({
  placement,
  isWhatIf,
}: {
  placement: PlacementDetail;
  isWhatIf: boolean;
}) {
  const { system: systemId, topic } = placement;
  const navigate = useNavigate();
  const system = useSystem(systemId);
  const rerun = useRerun();
  // What is in force needs no plan: the next step is to place it again.
  const isNext = useQuery(roundsQuery(placement.id)).data?.can_place_again ?? false;
  const mayPlace = system.data?.allowed_commands.includes("optimize") ?? false;
  const again = () => {
    rerun.mutate(placement.run, {
      onSuccess: (run) => {
        tell(`Started R-${run.number}`, "Same snapshot, method, parameters and seed.");
        void navigate(to.run(run.id));
      },
      onError: (error) => tellFailure("Not started", error),
    });
  };
  return (
    <PageHead
      title={`Placement of ${placement.topic_name}`}
      crumb={placement.name}
      crumbs={[
        { label: system.data?.name ?? placement.system_name, to: to.topology(systemId) },
        { label: "Placement", to: placementsAt.list(systemId) },
      ]}
      state={
        <>
          <span className="tag out">{placement.name}, proposal</span>
          {isWhatIf ? <WhatIfBadge /> : <SloBadge meets={placement.meets} />}
        </>
      }
      facts={factsOf(placement, isWhatIf)}
      commands={
        <>
          {placement.allowed_commands.includes("rerun") ? (
            <Command icon="refresh" onClick={again} disabled={rerun.isPending}>
              Run again
            </Command>
          ) : null}
          {mayPlace ? (
            <Link className="btn" to={placementsAt.ask(systemId, topic === null ? {} : { topic })}>
              <Icon name="split" small />
              Place a topic
            </Link>
          ) : null}
          <MakePlan placement={placement} primary={!isNext} />
        </>
      }
    />
  );
}

function WhatIfBadge() {
  return (
    <Badge tone="waits" icon="half" title="Changed by the sliders; nothing of it is stored.">
      What if
    </Badge>
  );
}
