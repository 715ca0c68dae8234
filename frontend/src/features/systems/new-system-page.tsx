/** Start managing a system. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { SystemForm, type SystemDraft } from "./system-form";

import { keys } from "@/api/query-keys";
import { systemCreate } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Note } from "@/components/ui/dialogs";
import { PageHead } from "@/components/ui/page";
import { Panel } from "@/components/ui/panel";
import { tell } from "@/components/ui/toast";
import { to } from "@/lib/kinds";
import { problemOf, unclaimed, type FieldProblem } from "@/lib/problem";

const FIELDS = ["name", "description", "product", "resources", "reason"];

export default function NewSystemPage() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [draft, setDraft] = useState<SystemDraft>({
    name: "",
    description: "",
    product: "simulated",
    resources: ["cpu"],
    reason: "",
  });
  const [errors, setErrors] = useState<FieldProblem[]>([]);
  const [busy, setBusy] = useState(false);
  const [key, setKey] = useState(() => crypto.randomUUID());

  const save = async () => {
    setBusy(true);
    setErrors([]);
    try {
      const made = await systemCreate(draft, key);
      await queries.invalidateQueries({ queryKey: keys.systems.all });
      await queries.invalidateQueries({ queryKey: keys.overview });
      tell(`Created system ${made.name}`);
      await navigate(to.kind(made.id, "brokers"));
    } catch (error) {
      const problem = problemOf(error);
      setKey(crypto.randomUUID());
      setErrors(
        problem.errors.length > 0 ? problem.errors : [{ field: "", message: problem.detail }],
      );
    } finally {
      setBusy(false);
    }
  };
  const others = unclaimed(errors, FIELDS);
  return (
    <>
      <PageHead
        title="New system"
        crumbs={[{ label: "Systems", to: to.systems }]}
        commands={
          <>
            <button type="button" className="btn" onClick={() => void navigate(to.systems)}>
              Discard
            </button>
            <Command primary icon="check" type="submit" form="system" disabled={busy}>
              Create system
            </Command>
          </>
        }
        plainFacts={<span>One managed messaging system: its brokers, topics and consumers.</span>}
      />
      <div className="main">
        <Panel title="New system">
          <div className="form" style={{ maxWidth: 720, paddingTop: 4 }}>
            {others.length > 0 ? (
              <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
            ) : null}
            <SystemForm
              draft={draft}
              onDraft={setDraft}
              errors={errors}
              onSubmit={() => void save()}
            />
          </div>
        </Panel>
      </div>
    </>
  );
}
