/** What clients of no consumer class may do at the brokers, in force as soon as it is saved. */
import { useState } from "react";

import { accessSet, type System, type Unmanaged } from "@/api/systems";
import { ChoiceField } from "@/components/ui/fields";
import { SettingPanel } from "./setting-panel";

interface Mode {
  value: Unmanaged;
  label: string;
  says: string;
}

const REFUSED: Mode = { value: "refuse", label: "Refuse", says: "They are turned away." };
const MODES: readonly Mode[] = [
  REFUSED,
  {
    value: "report",
    label: "Let in, and report",
    says:
      "Anybody who reaches a broker may use subjects of their own there. Telemetry names them and " +
      "counts them.",
  },
  {
    value: "allow",
    label: "Let in",
    says: "Anybody who reaches a broker may use subjects of their own there. Nobody is told who does.",
  },
];

const placeOf = (mode: Unmanaged) => MODES.findIndex((each) => each.value === mode);
const modeOf = (mode: Unmanaged) => MODES[placeOf(mode)] ?? REFUSED;

export function AccessPanel({
  system,
  onSaved,
}: {
  system: System;
  onSaved: (system: System) => Promise<void>;
}) {
  const inForce = modeOf(system.unmanaged);
  const [picked, setPicked] = useState<Unmanaged | null>(null);
  const wanted = modeOf(picked ?? system.unmanaged);
  const opens = placeOf(wanted.value) > placeOf(inForce.value);
  const maySet = system.allowed_commands.includes("set_access");

  const save = async (reason: string) => {
    await onSaved(
      await accessSet(system.id, system.version, {
        unmanaged: wanted.value,
        confirm: opens,
        reason,
      }),
    );
    setPicked(null);
  };

  return (
    <SettingPanel
      title="Access"
      sub="clients that name no consumer class"
      system={system.name}
      label="Unmanaged clients"
      value={inForce.label}
      field={
        maySet ? (
          <ChoiceField
            label="Unmanaged clients"
            hint={wanted.says}
            value={wanted.value}
            onChange={(value) => setPicked(value as Unmanaged)}
            options={MODES}
          />
        ) : null
      }
      note={
        "Whatever is set here, they hear nothing of this system’s topics, and whoever gives a wrong " +
        "password or finds a class full is turned away."
      }
      blocked={wanted === inForce ? "Nothing is changed yet." : undefined}
      dangerous={opens}
      save={save}
    >
      <p>
        Unmanaged clients: <b>{inForce.label}</b> becomes <b>{wanted.label}</b>, at every broker of{" "}
        {system.name} and at once. No plan is needed and none goes stale.
      </p>
      <p>
        {wanted.says}
        {wanted.value === "refuse" ? " Those that are connected now are cut off." : ""}
      </p>
    </SettingPanel>
  );
}
