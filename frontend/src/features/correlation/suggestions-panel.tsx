/** The suggestions of an analysis, a page at a time: all of them, or those in one state. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { SuggestionRow } from "./suggestion-row";

import { suggestionsQuery, type AnalysisDetail } from "@/api/correlation";
import { useSystem } from "@/api/systems";
import { pagerOf, useListAddress } from "@/components/ui/list-tools";
import { Segments } from "@/components/ui/page";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { fixed } from "@/lib/numbers";

/** A raster each: more of them make a page slow. */
const ROWS = 20;

export function SuggestionsPanel({ analysis }: { analysis: AnalysisDetail }) {
  const address = useListAddress(["state"]);
  const state = address.filters.state ?? "";
  const system = useSystem(analysis.system).data;
  const suggestions = useQuery({
    ...suggestionsQuery(analysis.id, {
      state: state || undefined,
      cursor: address.cursor || undefined,
      page_size: ROWS,
    }),
    placeholderData: keepPreviousData,
  });
  const { open, accepted, rejected, groups } = analysis;
  return (
    <Panel
      title="Suggestions"
      sub={fixed(groups)}
      right={
        groups === 0 ? undefined : (
          <Segments
            label="State"
            value={state}
            options={[
              { value: "", label: "All" },
              { value: "open", label: `Open ${fixed(open)}` },
              { value: "accepted", label: `Accepted ${fixed(accepted)}` },
              { value: "rejected", label: `Rejected ${fixed(rejected)}` },
            ]}
            onChange={(value) => address.setFilter("state", value)}
          />
        )
      }
      flush
      stale={suggestions.isPlaceholderData}
      footer={pagerOf(suggestions.data, "suggestions", address)}
    >
      <QueryBody query={suggestions} what="The suggestions" rows={8}>
        {({ results }) =>
          results.length === 0 ? (
            <Empty>
              {groups === 0
                ? "No publishers send together more often than chance would have it: nothing is suggested."
                : "No suggestion is in that state."}
            </Empty>
          ) : (
            results.map((suggestion) => (
              <SuggestionRow
                // Another state begins with fields of its own.
                key={`${suggestion.id} ${suggestion.state}`}
                suggestion={suggestion}
                analysis={analysis}
                mayPlace={system?.allowed_commands.includes("optimize") ?? false}
              />
            ))
          )
        }
      </QueryBody>
    </Panel>
  );
}
