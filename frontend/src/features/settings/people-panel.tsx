/** People and their roles; nobody is deleted, accounts become inactive. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { RolesField, type Role } from "./roles-field";

import { userCreate, usersQuery, userUpdate, type User } from "@/api/administration";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Dialog, Note } from "@/components/ui/dialogs";
import { CheckField, TextField } from "@/components/ui/fields";
import { pagerOf, SearchField, useListAddress } from "@/components/ui/list-tools";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { tell } from "@/components/ui/toast";
import { fixed } from "@/lib/numbers";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";
import { ageText, exactTime } from "@/lib/time";

const FIELDS = ["username", "first_name", "last_name", "email", "roles", "password", "is_active"];

export function PeoplePanel() {
  const address = useListAddress([], "username");
  const [open, setOpen] = useState<User | "new" | null>(null);
  const users = useQuery(
    usersQuery({
      search: address.search || undefined,
      ordering: address.ordering || undefined,
      cursor: address.cursor || undefined,
    }),
  );
  const columns: Column<User>[] = [
    {
      key: "username",
      title: "Name",
      orderBy: "username",
      cell: (user) => (
        <button type="button" className="link ent" onClick={() => setOpen(user)}>
          {user.username}
        </button>
      ),
    },
    { key: "display", title: "Person", cell: (user) => user.display_name },
    {
      key: "roles",
      title: "Roles",
      cell: (user) =>
        user.roles.map((role) => (
          <span key={role} className="tag" style={{ marginRight: 4 }}>
            {role}
          </span>
        )),
    },
    {
      key: "active",
      title: "State",
      cell: (user) =>
        user.is_active === false ? (
          <Badge tone="idle" icon="ban">
            Inactive
          </Badge>
        ) : (
          <Badge tone="good" icon="check">
            Active
          </Badge>
        ),
    },
    {
      key: "seen",
      title: "Last sign-in",
      number: true,
      orderBy: "last_login",
      cell: (user) => (
        <span className="faint" title={exactTime(user.last_login)}>
          {user.last_login ? `${ageText(user.last_login)} ago` : "never"}
        </span>
      ),
    },
  ];
  return (
    <Panel
      title="People"
      sub={users.data ? fixed(users.data.count) : undefined}
      right={
        <Command small icon="plus" onClick={() => setOpen("new")}>
          Add person
        </Command>
      }
      flush
      footer={pagerOf(users.data, "people", address)}
    >
      <div className="tools">
        <SearchField
          label="Find people"
          value={address.search}
          onSearch={(search) => address.set({ search })}
        />
      </div>
      <QueryBody query={users} what="People">
        {(page) =>
          page.results.length === 0 ? (
            <Empty>Nobody of that name.</Empty>
          ) : (
            <DataTable
              label="People"
              columns={columns}
              rows={page.results}
              rowKey={(user) => user.id}
              ordering={address.ordering}
              onOrder={(ordering) => address.set({ ordering })}
              onOpen={setOpen}
              keys
            />
          )
        }
      </QueryBody>
      <Dialog
        title={open === "new" ? "Add person" : `Person ${open?.username ?? ""}`}
        open={open !== null}
        onClose={() => setOpen(null)}
      >
        {open === null ? null : (
          <PersonForm user={open === "new" ? null : open} onDone={() => setOpen(null)} />
        )}
      </Dialog>
    </Panel>
  );
}

function PersonForm({ user, onDone }: { user: User | null; onDone: () => void }) {
  const queries = useQueryClient();
  const [username, setUsername] = useState(user?.username ?? "");
  const [first, setFirst] = useState(user?.first_name ?? "");
  const [last, setLast] = useState(user?.last_name ?? "");
  const [email, setEmail] = useState(user?.email ?? "");
  const [password, setPassword] = useState("");
  const [roles, setRoles] = useState<Role[]>(user ? [...user.roles] : ["viewer"]);
  const [active, setActive] = useState(user?.is_active ?? true);
  const { errors, busy, send, others } = useSubmission(FIELDS);
  const save = async () => {
    const body = {
      username,
      first_name: first,
      last_name: last,
      email,
      roles,
      is_active: active,
      ...(password ? { password } : {}),
    };
    await send(async () => {
      const saved = user ? await userUpdate(user.id, user.version, body) : await userCreate(body);
      await queries.invalidateQueries({ queryKey: keys.users.all });
      tell(user ? `Saved ${saved.username}` : `Added ${saved.username}`);
      onDone();
    });
  };
  return (
    <form
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      <div className="grid2">
        <TextField
          label="Sign-in name"
          focus
          value={username}
          onChange={setUsername}
          error={messageFor(errors, "username")}
        />
        <TextField
          label="Mail address"
          type="email"
          required={false}
          value={email}
          onChange={setEmail}
          error={messageFor(errors, "email")}
        />
        <TextField
          label="First name"
          required={false}
          value={first}
          onChange={setFirst}
          error={messageFor(errors, "first_name")}
        />
        <TextField
          label="Last name"
          required={false}
          value={last}
          onChange={setLast}
          error={messageFor(errors, "last_name")}
        />
        <div className="wide">
          <TextField
            label={user ? "New password" : "Password"}
            type="password"
            autoComplete="new-password"
            required={user ? false : undefined}
            hint={
              user
                ? "Left empty, the old one stays. A new one ends the person’s sessions and tokens."
                : undefined
            }
            value={password}
            onChange={setPassword}
            error={messageFor(errors, "password")}
          />
        </div>
      </div>
      <RolesField value={roles} onChange={setRoles} error={messageFor(errors, "roles")} />
      {user ? (
        <CheckField
          label="Active"
          hint="An inactive person cannot sign in; tokens stop working, approvals no longer count."
          value={active}
          onChange={setActive}
          error={messageFor(errors, "is_active")}
        />
      ) : null}
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onDone}>
            Discard
          </button>
          <Command primary type="submit" disabled={busy}>
            {user ? "Save" : "Add person"}
          </Command>
        </span>
      </div>
    </form>
  );
}
