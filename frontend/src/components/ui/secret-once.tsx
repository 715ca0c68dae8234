/** A secret that the server shows once: to copy now, with what to do with it. */
import { useState } from "react";

import { Note } from "./dialogs";
import { Icon } from "./icons";

export function SecretOnce({
  secret,
  name,
  onClose,
  children,
  kept = "It is stored only as a hash and is not shown again.",
}: {
  secret: string;
  /** What it is: "Token", "Credential". */
  name: string;
  onClose: () => void;
  /** How it is used. */
  children: React.ReactNode;
  /** Why it has to be copied now. */
  kept?: string;
}) {
  const [copied, setCopied] = useState(false);
  return (
    <div className="form">
      <Note tone="warn">
        <b>Copy it now.</b> {kept}
      </Note>
      <div className="inp">
        <input className="mono" readOnly value={secret} aria-label={name} />
        <button
          type="button"
          className="iconbtn"
          aria-label={`Copy ${name.toLowerCase()}`}
          title="Copy"
          onClick={() => {
            void navigator.clipboard.writeText(secret).then(() => setCopied(true));
          }}
        >
          <Icon name={copied ? "check" : "copy"} small />
        </button>
      </div>
      <p className="lead">{children}</p>
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn pri" onClick={onClose}>
            Done
          </button>
        </span>
      </div>
    </div>
  );
}
