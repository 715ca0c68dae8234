/** Sign in with name and password. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Navigate, useLocation, useNavigate } from "react-router";

import { keys } from "@/api/query-keys";
import { signIn, useSession } from "@/api/session";
import { Note } from "@/components/ui/dialogs";
import { TextField } from "@/components/ui/fields";
import { Mark } from "@/components/ui/icons";
import { messageFor, problemOf, type Problem } from "@/lib/problem";

export function SignInPage() {
  const session = useSession();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const location = useLocation();
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const state = location.state as { from?: string } | null;
  const goal = state?.from ?? "/";

  useEffect(() => {
    document.title = "Sign in \u00b7 Weir";
  }, []);

  if (session.data?.signed_in && !busy) return <Navigate to={goal} replace />;

  const submit = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const made = await signIn(username.trim(), password);
      queries.setQueryData(keys.session, made);
      await navigate(goal, { replace: true });
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <main className="signin">
      <section className="panel" aria-labelledby="sign-in">
        <Mark className="mark" />
        <h1 id="sign-in">Sign in to Weir</h1>
        <p className="muted" style={{ marginBottom: 16 }}>
          The control plane for publish/subscribe systems.
        </p>
        <form
          className="form"
          onSubmit={(event) => {
            event.preventDefault();
            void submit();
          }}
        >
          <TextField
            label="Name"
            autoComplete="username"
            value={username}
            onChange={setUsername}
            error={problem ? messageFor(problem.errors, "username") : undefined}
          />
          <TextField
            label="Password"
            type="password"
            autoComplete="current-password"
            value={password}
            onChange={setPassword}
            error={problem ? messageFor(problem.errors, "password") : undefined}
          />
          {problem?.errors.length === 0 ? <Note tone="bad">{problem.detail}</Note> : null}
          <button
            type="submit"
            className="btn pri"
            disabled={busy}
            style={{ justifyContent: "center" }}
          >
            Sign in
          </button>
        </form>
      </section>
    </main>
  );
}
