/** How far a plan of an overlay may be from the best there is. */
import { memo } from "react";

import type { CandidateDetail } from "@/api/evaluations";
import { BoundRows } from "@/components/map/bound";
import { Panel } from "@/components/ui/panel";
import { countText } from "@/lib/numbers";
import { methodWord } from "@/lib/words";

export const BoundPanel = memo(function BoundPanel({ candidate }: { candidate: CandidateDetail }) {
  const { actions, steps_count: steps, planner, frontier } = candidate;
  const others = frontier.filter((p) => p.actions !== actions || p.steps_count !== steps);
  return (
    <Panel title="Plan against its bound" sub={methodWord(planner)}>
      <BoundRows
        rows={[
          { label: "action", value: actions, bound: candidate.lower_bound_actions },
          { label: "step", value: steps, bound: candidate.lower_bound_steps },
        ]}
      />
      {others.length > 0 ? (
        <p className="muted" style={{ marginTop: 10 }}>
          Also found:{" "}
          {others
            .map(
              (point) =>
                `${countText(point.actions, "action")} in ${countText(point.steps_count, "step")}`,
            )
            .join("; ")}
          .
        </p>
      ) : null}
    </Panel>
  );
});
