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

const metricsFor = (system: string) =>
  [
    "# Prometheus: prometheus.yml",
    "remote_write:",
    `  - url: "${window.location.origin}/api/v1/record-batches/prometheus?system=${system}"`,
    "    authorization: {credentials_file: /etc/prometheus/weir.token}",
    "",
    "# OpenTelemetry: the collector, with the processor cumulativetodelta before it",
    "exporters:",
    "  otlphttp/weir:",
    `    metrics_endpoint: "${window.location.origin}/api/v1/record-batches/otlp/v1/metrics?system=${system}"`,
    '    headers: {Authorization: "Bearer ${env:WEIR_TOKEN}"}',
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
      <p className="muted">Metrics come from Prometheus or OpenTelemetry&apos;s collector:</p>
      <Scroll label="Settings of collectors that send metrics">
        <pre>{metricsFor(system)}</pre>
      </Scroll>
    </div>
  );
}
