/** The commands of a schedule or trigger, as far as the server allows them. */
import type { Schemas } from "@/api/client";
import { useOnline } from "@/api/live";
import type { Schedule, Trigger } from "@/api/recomputation";
import { Icon, type IconName } from "@/components/ui/icons";

function Small({ icon, name, onClick }: { icon: IconName; name: string; onClick: () => void }) {
  const online = useOnline();
  return (
    <button
      type="button"
      className="iconbtn"
      aria-label={name}
      title={online ? name : "Offline: commands wait until the server answers again."}
      onClick={onClick}
      disabled={!online}
    >
      <Icon name={icon} small />
    </button>
  );
}

export function RuleCommands({
  row,
  run,
  pause,
  edit,
  remove,
}: {
  row: Schedule | Trigger;
  run?: () => void;
  pause: () => void;
  edit: () => void;
  remove: () => void;
}) {
  const may = (command: Schemas["RuleCommandEnum"]) => row.allowed_commands.includes(command);
  const paused = row.enabled === false;
  return (
    <span className="nowrap">
      {run && may("run") ? <Small icon="refresh" name="Run now" onClick={run} /> : null}
      {may("edit") ? (
        <>
          <Small
            icon={paused ? "play" : "pause"}
            name={paused ? "Resume" : "Pause"}
            onClick={pause}
          />
          <Small icon="edit" name="Edit" onClick={edit} />
        </>
      ) : null}
      {may("delete") ? <Small icon="trash" name="Delete" onClick={remove} /> : null}
    </span>
  );
}
