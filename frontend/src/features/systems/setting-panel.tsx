/** One setting of a system that is in force as soon as it is saved: shown, edited, confirmed with a
 * reason. */
import { type ReactNode, useState } from "react";

import { Command } from "@/components/ui/command";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { Panel } from "@/components/ui/panel";

export function SettingPanel({
  title,
  sub,
  system,
  label,
  value,
  field,
  note,
  blocked,
  dangerous,
  save,
  children,
}: {
  title: string;
  sub: string;
  /** Its name. */
  system: string;
  label: string;
  /** What is in force, for those who may not change it. */
  value: string;
  /** Where it is changed; null for those who may not. */
  field: ReactNode;
  note: string;
  /** Why it cannot be saved now; undefined when it can. */
  blocked: string | undefined;
  dangerous: boolean;
  save: (reason: string) => Promise<void>;
  /** What will change, before it does. */
  children: ReactNode;
}) {
  const [asking, setAsking] = useState(false);
  const command = `Set ${title.toLowerCase()}`;
  return (
    <Panel title={title} sub={sub}>
      <div className="form">
        {field ?? (
          <dl className="kv">
            <dt>{label}</dt>
            <dd>{value}</dd>
          </dl>
        )}
        <p className="muted">{note}</p>
        {field ? (
          <div className="formfoot">
            <span className="r">
              <Command
                onClick={() => setAsking(true)}
                disabled={blocked !== undefined}
                reason={blocked}
              >
                {command}
              </Command>
            </span>
          </div>
        ) : null}
      </div>
      <ConfirmDialog
        title={`${command} of ${system}`}
        command={command}
        dangerous={dangerous}
        open={asking}
        onClose={() => setAsking(false)}
        askReason
        run={save}
      >
        {children}
      </ConfirmDialog>
    </Panel>
  );
}
