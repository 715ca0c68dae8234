/** Whether a prediction keeps to the objective: nothing is said where there is none. */
import { Badge } from "@/components/ui/state-badge";

export function SloBadge({ meets }: { meets: boolean | null }) {
  if (meets === null) return <span className="faint">no SLO</span>;
  return meets ? (
    <Badge tone="good" icon="check">
      Meets
    </Badge>
  ) : (
    <Badge tone="warn" icon="alert">
      Misses
    </Badge>
  );
}
