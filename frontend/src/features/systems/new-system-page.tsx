/** Start managing a system. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { SYSTEM_FIELDS, systemBody, SystemForm, type SystemDraft } from "./system-form";

import { keys } from "@/api/query-keys";
import { systemCreate } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Note } from "@/components/ui/dialogs";
import { PageHead } from "@/components/ui/page";
import { Panel } from "@/components/ui/panel";
import { tell } from "@/components/ui/toast";
import { to } from "@/lib/kinds";
import { useSubmission } from "@/lib/submission";

export default function NewSystemPage() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [draft, setDraft] = useState<SystemDraft>({
    name: "",
    description: "",
    product: "simulated",
    resources: ["cpu"],
    external_id: "",
    labels: [],
    reason: "",
  });
  const { errors, setErrors, busy, send, others } = useSubmission(SYSTEM_FIELDS);
  const [key, setKey] = useState(() => crypto.randomUUID());

  const save = () => {
    const { body, errors: wrong } = systemBody(draft);
    setErrors(wrong);
    if (wrong.length > 0) return;
    return send(
      async () => {
        const made = await systemCreate(body, key);
        await queries.invalidateQueries({ queryKey: keys.systems.all });
        await queries.invalidateQueries({ queryKey: keys.overview });
        tell(`Created system ${made.name}`);
        await navigate(to.kind(made.id, "brokers"));
      },
      () => {
        // A corrected form is another request.
        setKey(crypto.randomUUID());
        return false;
      },
    );
  };
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
