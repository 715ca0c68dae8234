/** Tokens for machines; the secret is shown once. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { givenBy, RolesField, type Role } from "./roles-field";

import { tokenCreate, tokenRevoke, tokensQuery, type Token } from "@/api/administration";
import { keys } from "@/api/query-keys";
import { useSession } from "@/api/session";
import { Command } from "@/components/ui/command";
import { DataTable, type Column } from "@/components/ui/data-table";
import { ConfirmDialog, Dialog, Note } from "@/components/ui/dialogs";
import { ChoiceField, TextField } from "@/components/ui/fields";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { SecretOnce } from "@/components/ui/secret-once";
import { Badge } from "@/components/ui/state-badge";
import { fixed, UNKNOWN } from "@/lib/numbers";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";
import { ageText, clockText, exactTime } from "@/lib/time";

const LIVES = [
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "1 year" },
  { value: "0", label: "Without end" },
];

function TokenState({ token }: { token: Token }) {
  if (token.revoked_at) {
    return (
      <Badge tone="idle" icon="ban" title={exactTime(token.revoked_at)}>
        Revoked
      </Badge>
    );
  }
  if (token.expires_at && new Date(token.expires_at) < new Date()) {
    return (
      <Badge tone="idle" icon="clockx">
        Expired
      </Badge>
    );
  }
  return (
    <Badge tone="good" icon="check">
      Valid
    </Badge>
  );
}

export function TokensPanel() {
  const queries = useQueryClient();
  const tokens = useQuery(tokensQuery({ page_size: 200 }));
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Token | null>(null);
  const refresh = () => queries.invalidateQueries({ queryKey: keys.tokens.all });
  const columns: Column<Token>[] = [
    { key: "name", title: "Token", cell: (token) => <span className="ent">{token.name}</span> },
    {
      key: "prefix",
      title: "Begins with",
      cell: (token) => <span className="mono">{token.prefix}</span>,
    },
    { key: "owner", title: "Owner", cell: (token) => token.owner_name },
    { key: "roles", title: "Roles", cell: (token) => token.roles.join(", ") },
    { key: "state", title: "State", cell: (token) => <TokenState token={token} /> },
    {
      key: "used",
      title: "Last used",
      number: true,
      cell: (token) => (token.last_used_at ? `${ageText(token.last_used_at)} ago` : "never"),
    },
    {
      key: "expires",
      title: "Expires",
      number: true,
      cell: (token) => (token.expires_at ? clockText(token.expires_at) : UNKNOWN),
    },
    {
      key: "commands",
      title: "Command",
      number: true,
      cell: (token) =>
        token.allowed_commands.includes("revoke") ? (
          <Command small danger onClick={() => setRevoking(token)}>
            Revoke
          </Command>
        ) : null,
    },
  ];
  return (
    <Panel
      title="API tokens"
      sub={tokens.data ? fixed(tokens.data.count) : undefined}
      right={
        <Command small icon="plus" onClick={() => setMaking(true)}>
          Make token
        </Command>
      }
      flush
    >
      <QueryBody query={tokens} what="Tokens">
        {(page) =>
          page.results.length === 0 ? (
            <Empty>
              A token lets a machine use the API in your name, with some of your roles. There is
              none yet.
            </Empty>
          ) : (
            <DataTable
              label="API tokens"
              columns={columns}
              rows={page.results}
              rowKey={(token) => token.id}
              tall
            />
          )
        }
      </QueryBody>
      <Dialog title="Make token" open={making} onClose={() => setMaking(false)}>
        <TokenForm onClose={() => setMaking(false)} onMade={refresh} />
      </Dialog>
      <ConfirmDialog
        title={`Revoke token ${revoking?.name ?? ""}`}
        command="Revoke"
        open={revoking !== null}
        onClose={() => setRevoking(null)}
        run={async () => {
          if (revoking) await tokenRevoke(revoking.id);
          await refresh();
        }}
      >
        <p>
          Machines that use <b>{revoking?.name}</b> are refused from now on. A revoked token cannot
          be made valid again.
        </p>
      </ConfirmDialog>
    </Panel>
  );
}

function TokenForm({ onClose, onMade }: { onClose: () => void; onMade: () => Promise<void> }) {
  const mine = useSession().data?.roles ?? [];
  const among = givenBy(mine);
  const [name, setName] = useState("");
  const [life, setLife] = useState("90");
  const [roles, setRoles] = useState<Role[]>(["viewer"]);
  const [secret, setSecret] = useState<string | null>(null);
  const { errors, busy, send, others } = useSubmission(["name", "roles", "expires_at"]);
  const make = () =>
    send(async () => {
      const days = Number(life);
      const made = await tokenCreate({
        name,
        roles,
        expires_at: days > 0 ? new Date(Date.now() + days * 86_400_000).toISOString() : null,
      });
      setSecret(made.secret);
      await onMade();
    });
  if (secret !== null) {
    return (
      <SecretOnce secret={secret} name="Token" onClose={onClose}>
        Send it as <span className="mono">Authorization: Bearer …</span>
      </SecretOnce>
    );
  }
  return (
    <form
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void make();
      }}
    >
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      <TextField
        label="Name"
        focus
        hint="Which machine uses it."
        value={name}
        onChange={setName}
        error={messageFor(errors, "name")}
      />
      <ChoiceField
        label="Valid for"
        options={LIVES}
        value={life}
        onChange={setLife}
        error={messageFor(errors, "expires_at")}
      />
      <RolesField
        among={among}
        value={roles}
        onChange={setRoles}
        error={messageFor(errors, "roles")}
      />
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Discard
          </button>
          <Command primary type="submit" disabled={busy}>
            Make token
          </Command>
        </span>
      </div>
    </form>
  );
}
