/** What a person may ask of a study now: cancel, run again, rename, delete. */
import { useState } from "react";
import { Link, useNavigate } from "react-router";

import { studiesAt } from "./addresses";

import type { Schemas } from "@/api/client";
import {
  useCancelStudy,
  useDeleteStudy,
  useRenameStudy,
  useRerunStudy,
  type StudyDetail,
} from "@/api/studies";
import { Command } from "@/components/ui/command";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { TextField } from "@/components/ui/fields";
import { Icon } from "@/components/ui/icons";
import { tell, tellFailure } from "@/components/ui/toast";
import { countText } from "@/lib/numbers";

type Asking = "cancel" | "delete" | "rename" | null;

export function StudyCommands({ study }: { study: StudyDetail }) {
  const navigate = useNavigate();
  const [asking, setAsking] = useState<Asking>(null);
  const [name, setName] = useState(study.name);
  const cancel = useCancelStudy();
  const rerun = useRerunStudy();
  const rename = useRenameStudy();
  const remove = useDeleteStudy();
  const may = (command: Schemas["StudyCommandEnum"]) => study.allowed_commands.includes(command);
  const close = () => setAsking(null);
  return (
    <>
      {may("rename") ? (
        <Command
          icon="edit"
          onClick={() => {
            setName(study.name);
            setAsking("rename");
          }}
        >
          Rename
        </Command>
      ) : null}
      {may("delete") ? (
        <Command danger icon="trash" onClick={() => setAsking("delete")}>
          Delete
        </Command>
      ) : null}
      {study.allowed_commands.length > 0 ? (
        <Link className="btn" to={studiesAt.ask(study.system, { from: study.id })}>
          <Icon name="copy" small />
          Duplicate and edit
        </Link>
      ) : null}
      {may("rerun") ? (
        <Command
          icon="refresh"
          disabled={rerun.isPending}
          onClick={() =>
            rerun.mutate(study.id, {
              onSuccess: () =>
                tell(`W-${study.number} runs again`, "Same snapshot, same scenarios."),
              onError: (error) => tellFailure("Not started", error),
            })
          }
        >
          Run again
        </Command>
      ) : null}
      {may("cancel") ? (
        <Command
          danger
          icon="ban"
          onClick={() => setAsking("cancel")}
          disabled={study.cancel_requested}
          reason="The study is being cancelled."
        >
          Cancel study
        </Command>
      ) : null}
      <ConfirmDialog
        title={`Cancel W-${study.number}`}
        command="Cancel study"
        open={asking === "cancel"}
        onClose={close}
        run={() => cancel.mutateAsync(study.id)}
      >
        <p>
          The Spark job stops within two seconds. {countText(study.points_done, "answer")} found so
          far {study.points_done === 1 ? "stays" : "stay"}.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        title={`Delete W-${study.number}`}
        command="Delete"
        open={asking === "delete"}
        onClose={close}
        run={async () => {
          await remove.mutateAsync({ id: study.id, version: study.version });
          await navigate(studiesAt.list(study.system));
        }}
      >
        <p>
          The study is gone with {countText(study.points_done, "answer")}. Its runs stay in the
          record, and the model is not touched.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        title={`Rename W-${study.number}`}
        command="Rename"
        dangerous={false}
        open={asking === "rename"}
        onClose={close}
        run={() => rename.mutateAsync({ id: study.id, version: study.version, name })}
      >
        <TextField label="Name" value={name} onChange={setName} maxLength={200} focus />
      </ConfirmDialog>
    </>
  );
}
