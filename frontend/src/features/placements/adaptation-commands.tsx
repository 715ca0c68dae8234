/** Stop, which brings parts back to those in force, and resume. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { movedParts, orderText, partText, rateMove, sizeMove, sizeText } from "./adaptation";
import { ChangeText } from "./adaptation-parts";

import {
  resumeAdaptation,
  stopAdaptation,
  type Adaptation,
  type AdaptedPart,
} from "@/api/adaptation";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { DataTable, type Column } from "@/components/ui/data-table";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { tell } from "@/components/ui/toast";
import { countText, rateText } from "@/lib/numbers";

const BACK: Column<AdaptedPart>[] = [
  { key: "broker", title: "Broker", cell: (row) => <span className="ent">{row.broker}</span> },
  {
    key: "rate",
    title: "r",
    unit: "tokens/s",
    number: true,
    cell: (row) => `${rateText(row.rate_per_s)} to ${rateText(row.in_force_rate_per_s)}`,
  },
  {
    key: "rate-change",
    title: "Change\u00a0of\u00a0r",
    number: true,
    cell: (row) => (
      <ChangeText change={rateMove(row.in_force_rate_per_s, row.rate_per_s)} same="unchanged" />
    ),
  },
  {
    key: "size",
    title: "b",
    unit: "tokens",
    number: true,
    cell: (row) => `${sizeText(row.size)} to ${sizeText(row.in_force_size)}`,
  },
  {
    key: "size-change",
    title: "Change\u00a0of\u00a0b",
    number: true,
    cell: (row) => <ChangeText change={sizeMove(row.in_force_size, row.size)} same="unchanged" />,
  },
];

function WhatComesBack({ adaptation, topic }: { adaptation: Adaptation; topic: string }) {
  const moved = movedParts(adaptation);
  return (
    <>
      <p>
        The parts of {topic} come back to those in force, at once and without a plan. What shrinks
        comes first, so that they never add up to more than the contract. The order stays approved:{" "}
        <i>Resume</i> lets parts move again.
      </p>
      {moved.length === 0 ? (
        <p>No part differs from that in force now: none will change.</p>
      ) : (
        <>
          <p>{countText(moved.length, "part changes", "parts change")}:</p>
          <DataTable
            label="Parts that change"
            columns={BACK}
            rows={moved}
            rowKey={(row) => row.broker}
          />
        </>
      )}
    </>
  );
}

export function AdaptationCommands({
  adaptation,
  topic,
}: {
  adaptation: Adaptation;
  topic: { id: string; name: string };
}) {
  const queries = useQueryClient();
  const [asking, setAsking] = useState<"stop" | "resume" | null>(null);
  const { allowed_commands: allowed, contract } = adaptation;
  const key = keys.adaptation.one(topic.id);
  const command =
    (give: (topic: string, note: string) => Promise<Adaptation>, done: string) =>
    async (note: string) => {
      try {
        queries.setQueryData(key, await give(topic.id, note));
        tell(done);
      } catch (error) {
        // Whatever refuses it is what the panel should show by now.
        void queries.invalidateQueries({ queryKey: key });
        throw error;
      }
    };
  const close = () => setAsking(null);
  return (
    <>
      {allowed.includes("stop") ? (
        <Command icon="stop" small danger onClick={() => setAsking("stop")}>
          Stop
        </Command>
      ) : null}
      {allowed.includes("resume") ? (
        <Command icon="play" small onClick={() => setAsking("resume")}>
          Resume
        </Command>
      ) : null}
      <ConfirmDialog
        title={`Stop adapting ${topic.name}`}
        command="Stop"
        askReason
        reasonLabel="Note"
        open={asking === "stop"}
        onClose={close}
        run={command(stopAdaptation, `Stopped adapting ${topic.name}`)}
      >
        <WhatComesBack adaptation={adaptation} topic={topic.name} />
      </ConfirmDialog>
      <ConfirmDialog
        title={`Resume adapting ${topic.name}`}
        command="Resume"
        dangerous={false}
        askReason
        reasonLabel="Note"
        open={asking === "resume"}
        onClose={close}
        run={command(resumeAdaptation, `Resumed adapting ${topic.name}`)}
      >
        <p>
          Rate and size move between brokers again, {orderText(adaptation)}.{" "}
          {contract === null
            ? null
            : `The sums stay ${partText(contract.token_rate_per_s, contract.bucket)}.`}
        </p>
      </ConfirmDialog>
    </>
  );
}
