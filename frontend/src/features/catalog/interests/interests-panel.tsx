/** Interests in bulk, above the list of subscribers: export, import, and imports that go on. */
import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";

import { ImportInterestsDialog } from "./import-interests-dialog";
import { ImportProgress } from "./import-outcome";
import {
  endText,
  exportInterestsAddress,
  goesOn,
  interestImportsQuery,
  modeText,
  type InterestImport,
} from "./interest-imports";

import { useSystem } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Icon } from "@/components/ui/icons";
import { Panel, QueryBody } from "@/components/ui/panel";
import { StateBadge } from "@/components/ui/state-badge";
import { to } from "@/lib/kinds";
import { clockText, exactTime } from "@/lib/time";

const ACTIVE_SHOWN = 5;

function Line({ row }: { row: InterestImport }) {
  return (
    <li>
      <div className="row">
        <Link className="ent" to={to.interestImport(row.system, row.id)}>
          {row.name}
        </Link>
        <span className="muted">{modeText(row)}</span>
        <StateBadge state={row.state} />
        {goesOn(row) ? null : <span>{endText(row)}</span>}
        <span className="faint r" title={exactTime(row.created_at)}>
          {row.started_by ?? "Weir"}, {clockText(row.created_at)} UTC
        </span>
      </div>
      {goesOn(row) ? <ImportProgress row={row} /> : null}
    </li>
  );
}

export function InterestsPanel({ system: id }: { system: string }) {
  const system = useSystem(id).data;
  const [params, setParams] = useSearchParams();
  const active = useQuery(
    interestImportsQuery({ system: id, state: ["queued", "running"], page_size: ACTIVE_SHOWN }),
  );
  const latest = useQuery(interestImportsQuery({ system: id, page_size: 1 }));
  const show = (open: boolean) =>
    setParams(
      (old) => {
        const next = new URLSearchParams(old);
        if (open) next.set("import", "interests");
        else next.delete("import");
        return next;
      },
      { replace: true },
    );
  const mayImport = system?.allowed_commands.includes("add") ?? false;
  return (
    <Panel
      title="Interests"
      sub="which topics each subscriber wants, many at a time"
      right={
        <>
          <Link className="btn sm" to={to.interestImports(id)}>
            <Icon name="history" small />
            All imports
          </Link>
          <a className="btn sm" href={exportInterestsAddress(id)} download="interests.csv">
            <Icon name="download" small />
            Export interests
          </a>
          {mayImport ? (
            <Command small icon="upload" onClick={() => show(true)}>
              Import interests
            </Command>
          ) : null}
        </>
      }
    >
      <QueryBody query={latest} what="The latest import" rows={1}>
        {({ results: [last] }) => {
          const going = active.data?.results ?? [];
          if (last === undefined) {
            return (
              <p className="muted">
                A CSV with a line for each interest adds, removes or replaces those of many
                subscribers at once. Nothing was imported yet.
              </p>
            );
          }
          const rows = going.some((row) => row.id === last.id) ? going : [last, ...going];
          return (
            <ul className="importlines" aria-label="Latest imports of interests">
              {rows.map((row) => (
                <Line key={row.id} row={row} />
              ))}
            </ul>
          );
        }}
      </QueryBody>
      {mayImport && system ? (
        <ImportInterestsDialog
          system={system}
          open={params.get("import") === "interests"}
          onClose={() => show(false)}
        />
      ) : null}
    </Panel>
  );
}
