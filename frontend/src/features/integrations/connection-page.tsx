/** One connection: a test of it, what waits to be sent and why, and the last exchanges with bodies. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";

import { ConnectionDialog } from "./connection-dialog";
import { ExchangesPanel } from "./exchanges-panel";
import { ConnectionState, gateText, MESSAGES } from "./words";

import {
  connectionDelete,
  connectionQuery,
  connectionTest,
  connectionUpdate,
  productsQuery,
  waitingQuery,
  type Connection,
  type ConnectionProduct,
  type WaitingMessage,
} from "@/api/connections";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { DataTable, type Column } from "@/components/ui/data-table";
import { ConfirmDialog, Note } from "@/components/ui/dialogs";
import { pagerOf, useListAddress } from "@/components/ui/list-tools";
import { PageHead } from "@/components/ui/page";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { tell, tellFailure } from "@/components/ui/toast";
import { to } from "@/lib/kinds";
import { countText, fixed } from "@/lib/numbers";
import { labelOf } from "@/lib/parameters";
import { ageText, clockText, exactTime } from "@/lib/time";

export default function ConnectionPage() {
  const { id = "" } = useParams();
  const query = useQuery(connectionQuery(id));
  if (query.data) return <ConnectionView key={id} row={query.data} />;
  return (
    <>
      <PageHead title="Connection" crumbs={[{ label: "Connections", to: to.connections }]} />
      <div className="main">
        <section className="panel">
          <QueryBody query={query} what="This connection" rows={8}>
            {() => null}
          </QueryBody>
        </section>
      </div>
    </>
  );
}

type Troubled = Connection["troubled"][number];
type Outcome = { works: boolean; detail: string; at: string };

function ConnectionView({ row }: { row: Connection }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const products = useQuery(productsQuery);
  const [editing, setEditing] = useState(false);
  const [switching, setSwitching] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const [testing, setTesting] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const may = (name: Connection["allowed_commands"][number]) => row.allowed_commands.includes(name);
  const refresh = () => queries.invalidateQueries({ queryKey: keys.connections.all });
  const off = row.enabled === false;
  const product = products.data?.find((one) => one.name === row.product);
  const test = async () => {
    setTesting(true);
    try {
      setOutcome({ ...(await connectionTest(row.id)), at: new Date().toISOString() });
      await refresh();
    } catch (error) {
      tellFailure("No test", error);
    } finally {
      setTesting(false);
    }
  };
  return (
    <>
      <PageHead
        title={row.name}
        crumbs={[{ label: "Connections", to: to.connections }]}
        state={<ConnectionState row={row} large />}
        facts={[
          { key: "product", icon: "plan", text: product?.title ?? row.product },
          {
            key: "systems",
            icon: "server",
            text: row.system_names.length > 0 ? row.system_names.join(", ") : "no system",
          },
          { key: "gate", icon: "usercheck", text: `execution waits for ${gateText(row)}` },
          {
            key: "answered",
            icon: "clock",
            text: row.answered_at ? `answered ${ageText(row.answered_at)} ago` : "never answered",
          },
        ]}
        commands={
          <>
            {may("test") ? (
              <Command icon="play" disabled={testing} onClick={() => void test()}>
                {testing ? "Testing…" : "Test"}
              </Command>
            ) : null}
            {may("edit") ? (
              <>
                <Command icon="edit" onClick={() => setEditing(true)}>
                  Edit
                </Command>
                <Command icon={off ? "play" : "ban"} onClick={() => setSwitching(true)}>
                  {off ? "Switch on" : "Switch off"}
                </Command>
              </>
            ) : null}
            {may("delete") ? (
              <Command icon="trash" danger onClick={() => setDeleting(true)}>
                Delete
              </Command>
            ) : null}
          </>
        }
      />
      <div className="main">
        {outcome ? (
          <Note tone={outcome.works ? "good" : "bad"}>
            {outcome.works ? "It works." : "It does not work."} {outcome.detail}{" "}
            <span className="faint" title={exactTime(outcome.at)}>
              Tested {clockText(outcome.at)} UTC.
            </span>
          </Note>
        ) : null}
        {row.problem !== "" && !off ? (
          <Note tone="warn">
            {row.problem}{" "}
            {row.retry_at
              ? `It is tried again at ${clockText(row.retry_at)} UTC.`
              : "It is tried again at once."}{" "}
            {row.waiting > 0
              ? `${countText(row.waiting, "message waits", "messages wait")}; nothing is lost.`
              : ""}
          </Note>
        ) : null}
        <div className="cols c-plan">
          <div className="stack">
            {row.troubled.length > 0 ? <TroubledPanel row={row} /> : null}
            <WaitingPanel row={row} />
            <ExchangesPanel connection={row.id} />
          </div>
          <div className="stack">
            <SettingsPanel row={row} described={product?.settings ?? []} />
          </div>
        </div>
      </div>
      {editing ? (
        <ConnectionDialog row={row} onClose={() => setEditing(false)} onSaved={() => undefined} />
      ) : null}
      <ConfirmDialog
        title={`${off ? "Switch on" : "Switch off"} ${row.name}`}
        command={off ? "Switch on" : "Switch off"}
        dangerous={!off}
        askReason
        open={switching}
        onClose={() => setSwitching(false)}
        run={async (reason) => {
          await connectionUpdate(row, { enabled: off, reason });
          await refresh();
          void queries.invalidateQueries({ queryKey: keys.plans.all });
        }}
      >
        {off ? (
          <p>
            Plans of its systems open their changes again, and{" "}
            {countText(row.waiting, "message that waits is", "messages that wait are")} sent.
            Execution waits for {gateText(row)}.
          </p>
        ) : (
          <p>
            Nothing is sent any more; {countText(row.waiting, "message waits", "messages wait")}{" "}
            until it is switched on. <b>No plan waits for its change meanwhile</b>: the approvals of
            the policy alone let it be executed.
          </p>
        )}
      </ConfirmDialog>
      <ConfirmDialog
        title={`Delete ${row.name}`}
        command="Delete"
        askReason
        open={deleting}
        onClose={() => setDeleting(false)}
        run={async (reason) => {
          await connectionDelete(row, reason);
          await refresh();
          tell(`Deleted ${row.name}`);
          void navigate(to.connections);
        }}
      >
        <p>No plan has opened a change here. Its settings and the last exchanges are removed.</p>
      </ConfirmDialog>
    </>
  );
}

/** `described`: the settings as the form has them. */
function SettingsPanel({
  row,
  described,
}: {
  row: Connection;
  described: ConnectionProduct["settings"];
}) {
  const order = described.map((one) => one.name);
  const entries = Object.entries(row.settings as Record<string, unknown>).sort(
    ([a], [b]) => order.indexOf(a) - order.indexOf(b),
  );
  const descriptionOf = (name: string) => described.find((one) => one.name === name);
  const choicesOf = (name: string) => descriptionOf(name)?.choices ?? [];
  const shown = (name: string, value: unknown) => {
    if (typeof value === "string" && choicesOf(name).includes(value)) return labelOf(value);
    if (value === "" || value === null) return <span className="faint">none</span>;
    if (typeof value === "object") {
      const lines = Object.entries(value).map(([name, text]) => `${name}: ${String(text)}`);
      return lines.length > 0 ? lines.join(", ") : <span className="faint">none</span>;
    }
    return typeof value === "string" ? value : JSON.stringify(value);
  };
  return (
    <Panel title="Settings">
      <dl className="kv settingskv">
        {entries.map(([name, value]) => (
          <div key={name} style={{ display: "contents" }}>
            <dt>{descriptionOf(name)?.label || labelOf(name)}</dt>
            <dd>{shown(name, value)}</dd>
          </div>
        ))}
        <div style={{ display: "contents" }}>
          <dt>Credential</dt>
          <dd className="mono">
            {row.credential ? row.credential : <span className="faint">none</span>}
          </dd>
        </div>
      </dl>
    </Panel>
  );
}

/** Changes that cannot be read; the others go on. */
function TroubledPanel({ row }: { row: Connection }) {
  const columns: Column<Troubled>[] = [
    { key: "change", title: "Change", cell: (change) => change.number },
    {
      key: "plan",
      title: "Plan",
      cell: (change) => (
        <Link className="link" to={to.plan(change.plan)}>
          {change.plan_name}
        </Link>
      ),
    },
    {
      key: "next",
      title: "Next, UTC",
      number: true,
      cell: (change) =>
        change.next_look_at ? (
          <span title={exactTime(change.next_look_at)}>{clockText(change.next_look_at)}</span>
        ) : (
          <span className="faint">at once</span>
        ),
    },
  ];
  return (
    <Panel title="Cannot be read" sub={fixed(row.troubled.length)} flush>
      <DataTable
        label="Cannot be read"
        columns={columns}
        rows={row.troubled}
        rowKey={(change) => change.id}
        under={(change) => <span className="muted">{change.problem}</span>}
      />
    </Panel>
  );
}

function WaitingPanel({ row }: { row: Connection }) {
  const address = useListAddress([], "", "waiting_");
  const waiting = useQuery(waitingQuery(row.id, address.cursor));
  const columns: Column<WaitingMessage>[] = [
    { key: "kind", title: "Message", cell: (message) => MESSAGES[message.kind] },
    {
      key: "plan",
      title: "Plan",
      cell: (message) => (
        <Link className="link" to={to.plan(message.plan)}>
          {message.plan_name}
        </Link>
      ),
    },
    {
      key: "change",
      title: "Change",
      cell: (message) => message.change_name || <span className="faint">not opened yet</span>,
    },
    {
      key: "since",
      title: "Waits for",
      number: true,
      cell: (message) => (
        <span title={exactTime(message.created_at)}>{ageText(message.created_at)}</span>
      ),
    },
    {
      key: "attempts",
      title: "Attempts",
      number: true,
      cell: (message) => fixed(message.attempts),
    },
    {
      key: "next",
      title: "Next, UTC",
      number: true,
      cell: (message) => (
        <span title={exactTime(message.next_at)}>{clockText(message.next_at)}</span>
      ),
    },
  ];
  return (
    <Panel
      title="Waits to be sent"
      sub={waiting.data ? fixed(waiting.data.count) : undefined}
      flush
      footer={pagerOf(waiting.data, "messages", address)}
    >
      <QueryBody query={waiting} what="What waits">
        {(page) =>
          page.results.length === 0 ? (
            <Empty>Nothing: everything was sent.</Empty>
          ) : (
            <DataTable
              label="Waits to be sent"
              columns={columns}
              rows={page.results}
              rowKey={(message) => message.id}
              under={(message) =>
                message.problem ? <span className="muted">{message.problem}</span> : null
              }
            />
          )
        }
      </QueryBody>
    </Panel>
  );
}
