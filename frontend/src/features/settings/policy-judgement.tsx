/** What of a new allocation is left out of its plan: band, dwell, and what moving costs. */
import type { PolicyDraft } from "./policy-draft";

import { Panel } from "@/components/ui/panel";

export type Figure = Exclude<
  keyof PolicyDraft,
  "rules" | "windows" | "rateControl" | "pauses" | "execute"
>;

type DrawField = (
  label: string,
  key: Figure,
  api: string,
  unit: string,
  hint: string,
) => React.ReactNode;

export function JudgementPanel({ field }: { field: DrawField }) {
  return (
    <Panel
      title="Judging single changes"
      sub="0 switches a rule off; a change that a capacity needs is always made"
    >
      <div className="form grid2">
        {field(
          "Band",
          "judgedBand",
          "enactment_band",
          "%",
          "A rate or limit moves only by more than this. To turn around it must move by more than the band twice over.",
        )}
        {field(
          "Dwell",
          "dwell",
          "enactment_dwell_s",
          "s",
          "A rate or limit that changed stays for so long, at most a week.",
        )}
        {field(
          "Moving one consumer costs",
          "perConsumer",
          "churn_per_consumer",
          "utility",
          "Admitting or releasing one. A change that gains less than it costs is left out.",
        )}
        {field(
          "Changing a rate costs",
          "perRate",
          "churn_per_rate_change",
          "utility",
          "For a change by all of the larger rate; half of it costs half.",
        )}
      </div>
    </Panel>
  );
}
