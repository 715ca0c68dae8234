/** One import of interests: how far it is, what it changed, what is wrong with its lines. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useParams } from "react-router";

import { CancelImport } from "./cancel-import";
import { ImportOutcome } from "./import-outcome";
import {
  goesOn,
  interestImportQuery,
  MODES,
  modeText,
  shareOf,
  tookSeconds,
  type InterestImport,
} from "./interest-imports";

import { useSystem } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Icon } from "@/components/ui/icons";
import { PageHead } from "@/components/ui/page";
import { Panel, QueryBody } from "@/components/ui/panel";
import { Badge, StateBadge } from "@/components/ui/state-badge";
import { UnitNumber } from "@/components/ui/unit-number";
import { useNow } from "@/lib/clock";
import { useCurrentSystemIs } from "@/lib/current-system";
import { KINDS, to } from "@/lib/kinds";
import { countText, dataText, fixed, UNKNOWN } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

export default function InterestImportPage() {
  const { systemId = "", id = "" } = useParams();
  useCurrentSystemIs(systemId);
  const system = useSystem(systemId).data;
  const query = useQuery(interestImportQuery(id));
  const crumbs = [
    { label: system?.name ?? "System", to: to.topology(systemId) },
    { label: KINDS.subscribers.many, to: to.kind(systemId, "subscribers") },
    { label: "Imports of interests", to: to.interestImports(systemId) },
  ];
  if (query.data) {
    const mayImport = system?.allowed_commands.includes("add") ?? false;
    return <ImportView key={id} row={query.data} crumbs={crumbs} mayImport={mayImport} />;
  }
  return (
    <>
      <PageHead title="Import of interests" crumbs={crumbs} />
      <div className="main">
        <section className="panel">
          <QueryBody query={query} what="This import" rows={6}>
            {() => null}
          </QueryBody>
        </section>
      </div>
    </>
  );
}

function ImportView({
  row,
  crumbs,
  mayImport,
}: {
  row: InterestImport;
  crumbs: readonly { label: string; to: string }[];
  mayImport: boolean;
}) {
  const [cancelling, setCancelling] = useState(false);
  const going = goesOn(row);
  const now = useNow(going);
  return (
    <>
      <PageHead
        title={`Import ${row.name}`}
        crumb={row.name}
        crumbs={crumbs}
        state={
          <>
            <StateBadge state={row.state} large />
            {row.cancel_requested && going ? (
              <Badge tone="warn" icon="ban">
                Cancelling
              </Badge>
            ) : null}
          </>
        }
        waterline={going ? shareOf(row) : 1}
        facts={[
          { key: "mode", icon: "edit", text: modeText(row) },
          { key: "file", icon: "table", text: dataText(row.size_bytes) },
          { key: "person", icon: "users", text: `asked by ${row.started_by ?? "Weir"}` },
          {
            key: "time",
            icon: "clock",
            text: <span title={exactTime(row.created_at)}>{clockText(row.created_at)} UTC</span>,
          },
        ]}
        commands={
          <>
            {row.allowed_commands.includes("cancel") ? (
              <Command danger icon="ban" onClick={() => setCancelling(true)}>
                Cancel import
              </Command>
            ) : null}
            {!going && mayImport ? (
              <Link className="btn" to={to.importInterests(row.system)}>
                <Icon name="upload" small />
                Import interests
              </Link>
            ) : null}
          </>
        }
      />
      <div className="main">
        <Panel title={going ? "Progress" : "Outcome"}>
          <div className="form">
            <ImportOutcome row={row} />
          </div>
        </Panel>
        <Panel title="What was asked for">
          <p className="lead">{MODES[row.mode].about}</p>
          <dl className="kv kvcols">
            <div>
              <dt>Changes</dt>
              <dd>{row.dry_run ? "none, check only" : "the model"}</dd>
            </div>
            <div>
              <dt>Missing subscribers</dt>
              <dd>{row.create_missing.length > 0 ? "are created" : "are errors"}</dd>
            </div>
            <div>
              <dt>Lines</dt>
              <dd>{row.lines === 0 && going ? UNKNOWN : countText(row.lines, "line")}</dd>
            </div>
            <div>
              <dt>{going ? "Running for" : "Took"}</dt>
              <dd>
                <UnitNumber value={tookSeconds(row, now)} as="duration" />
              </dd>
            </div>
            <div>
              <dt>Model afterwards</dt>
              <dd>{row.model_version === null ? UNKNOWN : `v${fixed(row.model_version)}`}</dd>
            </div>
            <div>
              <dt>Reason</dt>
              <dd>{row.reason || UNKNOWN}</dd>
            </div>
          </dl>
        </Panel>
      </div>
      <CancelImport row={cancelling ? row : null} onClose={() => setCancelling(false)} />
    </>
  );
}
