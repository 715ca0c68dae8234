/** For how long brokers keep delivered reliable messages, in force as soon as it is saved. */
import { useState } from "react";

import { retentionSet, type System } from "@/api/systems";
import { NumberField, parseNumber } from "@/components/ui/fields";
import { SettingPanel } from "./setting-panel";
import { fixed } from "@/lib/numbers";

const MINUTE_S = 60;
const LEAST_MIN = 2;
const MOST_MIN = 43_200;

/** In the unit a person would use: minutes, then hours, then days. */
export function spanText(seconds: number): string {
  const minutes = seconds / MINUTE_S;
  const [amount, unit] =
    minutes < 120 ? [minutes, "min"] : minutes < 2880 ? [minutes / 60, "h"] : [minutes / 1440, "d"];
  return `${fixed(amount, Number.isInteger(amount) ? 0 : 1)} ${unit}`;
}

function problemWith(minutes: number | null | undefined): string | undefined {
  if (minutes === undefined || minutes === null) return "Give a number of minutes.";
  if (minutes < LEAST_MIN || minutes > MOST_MIN) {
    return `Give ${fixed(LEAST_MIN)} to ${fixed(MOST_MIN)} min, which is 30 d.`;
  }
  return Number.isInteger(minutes * MINUTE_S) ? undefined : "Give whole seconds.";
}

export function RetentionPanel({
  system,
  onSaved,
}: {
  system: System;
  onSaved: (system: System) => Promise<void>;
}) {
  const [typed, setTyped] = useState<string | null>(null);
  const minutes = typed === null ? system.retention_s / MINUTE_S : parseNumber(typed);
  const problem = problemWith(minutes);
  const wanted = problem ? system.retention_s : Math.round((minutes ?? 0) * MINUTE_S);
  const shorter = wanted < system.retention_s;
  const maySet = system.allowed_commands.includes("set_retention");

  const save = async (reason: string) => {
    await onSaved(
      await retentionSet(system.id, system.version, {
        retention_s: wanted,
        confirm: shorter,
        reason,
      }),
    );
    setTyped(null);
  };

  return (
    <SettingPanel
      title="Retention"
      sub="of reliable messages that were delivered"
      system={system.name}
      label="Kept at each broker for"
      value={spanText(system.retention_s)}
      field={
        maySet ? (
          <NumberField
            label="Kept at each broker for"
            unit="min"
            hint={problem ? undefined : spanText(wanted)}
            error={problem}
            value={typed ?? String(system.retention_s / MINUTE_S)}
            onChange={setTyped}
          />
        ) : null
      }
      note={
        "A consumer that is away for longer misses messages. What an ingress hands on again after " +
        "longer, such as after an outage, may be delivered twice."
      }
      blocked={problem ?? (wanted === system.retention_s ? "Nothing is changed yet." : undefined)}
      dangerous={shorter}
      save={save}
    >
      <p>
        Delivered reliable messages are kept for <b>{spanText(wanted)}</b>, now{" "}
        <b>{spanText(system.retention_s)}</b>, at every broker of {system.name} and at once. No plan
        is needed and none goes stale.
      </p>
      <p>
        {shorter
          ? `Brokers forget what is older than ${spanText(wanted)} and cannot give it back: consumers that have been away for longer miss it.`
          : "Brokers need more disk: the rate of each reliable topic times the size of its messages, for the added time."}
      </p>
    </SettingPanel>
  );
}
