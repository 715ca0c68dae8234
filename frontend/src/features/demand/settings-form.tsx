/** Whose figures snapshots use, and how far measured ones count. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import {
  BASES,
  NUMBERS,
  readNumber,
  settingText,
  typedOf,
  unitOf,
  usedBy,
  valueOf,
  type NumberName,
} from "./words";

import {
  demandSettingsUpdate,
  type Demand,
  type DemandBasis,
  type DemandSettings,
} from "@/api/demand";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { ChoiceField, NumberField } from "@/components/ui/fields";
import { tell } from "@/components/ui/toast";
import { amountText } from "@/components/ui/wanted-table";
import { countText } from "@/lib/numbers";

const OPTIONS = Object.entries(BASES).map(([value, label]) => ({ value, label }));
const SHOWN = 3;

export function SettingsForm({ row, now }: { row: DemandSettings; now: Demand | undefined }) {
  const queries = useQueryClient();
  const [basis, setBasis] = useState<DemandBasis>(row.basis ?? "typed");
  const [typed, setTyped] = useState<Partial<Record<NumberName, string>>>({});
  const [asking, setAsking] = useState(false);
  if (!row.allowed_commands.includes("edit")) {
    return (
      <>
        <dl className="kv">
          <dt>Snapshots use</dt>
          <dd>{BASES[row.basis ?? "typed"]}</dd>
          {NUMBERS.map((setting) => (
            <div key={setting.name} style={{ display: "contents" }}>
              <dt>{setting.label}</dt>
              <dd>{settingText(row, setting)}</dd>
            </div>
          ))}
        </dl>
        <p className="muted">Editors change this.</p>
      </>
    );
  }
  const fields = NUMBERS.map((setting) => {
    const text = typed[setting.name] ?? typedOf(row, setting);
    return { setting, text, ...readNumber(setting, text) };
  });
  const isWrong = fields.some(({ problem }) => problem !== undefined);
  const changed: DemandSettings = { ...row, basis };
  for (const { setting, value } of fields) if (value !== undefined) changed[setting.name] = value;
  const differing = NUMBERS.filter((one) => valueOf(changed, one) !== valueOf(row, one));
  const isSame = differing.length === 0 && basis === row.basis;
  const save = async (reason: string) => {
    const values = Object.fromEntries(differing.map((one) => [one.name, valueOf(changed, one)]));
    await demandSettingsUpdate(row, { basis, ...values, reason });
    await queries.invalidateQueries({ queryKey: keys.demand.system(row.system) });
    setTyped({});
    tell("Saved whose figures are used");
  };
  return (
    <div className="form">
      <ChoiceField
        label="Snapshots use"
        value={basis}
        options={OPTIONS}
        onChange={(value) => setBasis(value as DemandBasis)}
      />
      <div className="form grid2">
        {fields.map(({ setting, text, problem }) => (
          <NumberField
            key={setting.name}
            label={setting.label}
            unit={setting.unit}
            hint={setting.hint}
            value={text}
            onChange={(value) => setTyped({ ...typed, [setting.name]: value })}
            error={problem}
          />
        ))}
      </div>
      <div className="formfoot">
        <span className="r">
          <Command
            primary
            onClick={() => setAsking(true)}
            disabled={isWrong || isSame}
            reason={isWrong ? "A field says what is wrong." : "Nothing is changed yet."}
          >
            Save
          </Command>
        </span>
      </div>
      <ConfirmDialog
        title={`Save whose figures of ${row.system_name} are used`}
        command="Save"
        dangerous={false}
        open={asking}
        onClose={() => setAsking(false)}
        askReason
        run={save}
      >
        <ul>
          {basis === row.basis ? null : (
            <li>
              Snapshots use <b>{BASES[basis].toLowerCase()}</b>, now{" "}
              {BASES[row.basis ?? "typed"].toLowerCase()}.
            </li>
          )}
          {differing.map((one) => (
            <li key={one.name}>
              {one.label} <b>{settingText(changed, one)}</b>, now {settingText(row, one)}.
            </li>
          ))}
        </ul>
        {now === undefined ? null : <Changes settings={changed} now={now} />}
        <p>
          The model itself stays as it is, and the next run is the first to see this. Plans of rates
          and consumers go stale if more of the demand moves by it than their policy allows.
        </p>
      </ConfirmDialog>
    </div>
  );
}

/** What will be used of topics and classes, by what is known now. */
function Changes({ settings, now }: { settings: DemandSettings; now: Demand }) {
  const after = now.rows.map((row) => ({ row, amount: usedBy(settings, row) }));
  const moved = after.filter(({ row, amount }) => amount !== row.used);
  if (moved.length === 0) return <p>By what is known now, no figure changes.</p>;
  return (
    <>
      <p>By what is known now, {countText(moved.length, "figure")} will change:</p>
      <ul>
        {moved.slice(0, SHOWN).map(({ row, amount }) => (
          <li key={row.id}>
            {row.name}{" "}
            <b>
              {amountText(row, amount)} {unitOf(row.subject)}
            </b>
            , now {amountText(row, row.used)}.
          </li>
        ))}
        {moved.length > SHOWN ? <li>And {countText(moved.length - SHOWN, "other")}.</li> : null}
      </ul>
    </>
  );
}
