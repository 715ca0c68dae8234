/** How the first records are sent: a command to copy. */
import { useState } from "react";
import { Link } from "react-router";

import { Icon } from "@/components/ui/icons";
import { Empty } from "@/components/ui/panel";
import { Scroll } from "@/components/ui/scroll";
import { to } from "@/lib/kinds";

const commandFor = (system: string) =>
  [
    `curl -X POST "$WEIR_URL/api/v1/record-batches?system=${system}&table=messages" \\`,
    `  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/x-ndjson" \\`,
    `  --data-binary @messages.jsonl`,
  ].join("\n");

export function HowToSend({ system }: { system: string }) {
  const [copied, setCopied] = useState(false);
  const command = commandFor(system);
  const copy = () => {
    void navigator.clipboard.writeText(command).then(() => setCopied(true));
  };
  return (
    <div className="howtosend">
      <Empty
        command={
          <button type="button" className="btn sm" onClick={copy}>
            <Icon name={copied ? "check" : "copy"} small />
            {copied ? "Copied" : "Copy command"}
          </button>
        }
      >
        No records have arrived yet. Send a batch of them as JSON lines, CSV or Parquet, with an{" "}
        <Link to={to.settings}>API token</Link> of an editor. Each line of{" "}
        <span className="mono">messages.jsonl</span> is an object with{" "}
        <span className="mono">at_s</span> (Unix seconds), <span className="mono">topic</span> and{" "}
        <span className="mono">publisher</span>.
      </Empty>
      <Scroll label="Command that sends records">
        <pre>{command}</pre>
      </Scroll>
    </div>
  );
}
