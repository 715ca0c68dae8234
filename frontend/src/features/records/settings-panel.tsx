/** Until when records are taken, and for how long they and their sums are kept. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import {
  readSetting,
  SETTINGS,
  settingText,
  typedOf,
  valueOf,
  type Setting,
  type SettingName,
} from "./settings";

import { keys } from "@/api/query-keys";
import { recordSettingsUpdate, type RecordSettings } from "@/api/records";
import { Command } from "@/components/ui/command";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { NumberField } from "@/components/ui/fields";
import { tell } from "@/components/ui/toast";

export function SettingsPanel({ row }: { row: RecordSettings }) {
  const queries = useQueryClient();
  const [typed, setTyped] = useState<Partial<Record<SettingName, string>>>({});
  const [asking, setAsking] = useState(false);
  if (!row.allowed_commands.includes("edit")) {
    return (
      <dl className="kv">
        {SETTINGS.map((setting) => (
          <div key={setting.name} style={{ display: "contents" }}>
            <dt>{setting.label}</dt>
            <dd>{settingText(row, setting)}</dd>
          </div>
        ))}
      </dl>
    );
  }
  const fields = SETTINGS.map((setting) => {
    const text = typed[setting.name] ?? typedOf(row, setting);
    return { setting, text, ...readSetting(setting, text) };
  });
  const wrong = fields.some(({ problem }) => problem !== undefined);
  const changed: RecordSettings = { ...row };
  for (const { setting, value } of fields) if (value !== undefined) changed[setting.name] = value;
  const differing = SETTINGS.filter((one) => valueOf(changed, one) !== valueOf(row, one));
  const isShorter = (one: Setting) =>
    one.name !== "late_after_s" && valueOf(changed, one) < valueOf(row, one);
  const deletes = differing.some(isShorter);
  const save = async (reason: string) => {
    const values = Object.fromEntries(differing.map((one) => [one.name, valueOf(changed, one)]));
    await recordSettingsUpdate(row, { ...values, reason });
    await queries.invalidateQueries({ queryKey: keys.records.settings(row.system) });
    setTyped({});
    tell("Saved how records are kept");
  };
  return (
    <div className="form">
      <div className="cols c-3">
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
            onClick={() => setAsking(true)}
            disabled={wrong || differing.length === 0}
            reason={wrong ? "A field says what is wrong." : "Nothing is changed yet."}
          >
            Save settings
          </Command>
        </span>
      </div>
      <ConfirmDialog
        title={`Save settings of records of ${row.system_name}`}
        command="Save settings"
        dangerous={deletes}
        open={asking}
        onClose={() => setAsking(false)}
        askReason
        run={save}
      >
        <ul>
          {differing.map((one) => (
            <li key={one.name}>
              {one.label} <b>{settingText(changed, one)}</b>, now {settingText(row, one)}.
            </li>
          ))}
        </ul>
        {deletes ? <p>What is older is deleted, and nothing brings it back.</p> : null}
        {differing.some((one) => one.name === "late_after_s") ? (
          <p>It holds for what arrives from now on.</p>
        ) : null}
      </ConfirmDialog>
    </div>
  );
}
