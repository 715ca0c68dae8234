/** The rows that wait with one problem, as they were sent, a page at a time. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { shortName } from "./words";

import { waitingRowsQuery, type ProblemCounts, type SetAside } from "@/api/records";
import { Command } from "@/components/ui/command";
import { pagerOf, type ListAddress } from "@/components/ui/list-tools";
import { QueryBody } from "@/components/ui/panel";
import { fixed } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

export function WaitingRows({
  system,
  counted: { table, problem },
  address,
  onAmend,
}: {
  system: string;
  counted: ProblemCounts;
  address: ListAddress;
  /** Undefined for those who may not. */
  onAmend: ((row: SetAside) => void) | undefined;
}) {
  const rows = useQuery({
    ...waitingRowsQuery(system, { table, problem, cursor: address.cursor || undefined }),
    placeholderData: keepPreviousData,
  });
  return (
    <QueryBody query={rows} what="The rows" rows={3}>
      {(page) => (
        <>
          <ul className="waitingrows" aria-label={`Rows with the problem ${problem}`}>
            {page.results.map((row) => (
              <li key={`${row.batch} ${row.row}`}>
                <div>
                  <b>Row {fixed(row.row)}</b>
                  <span className="muted">
                    of batch{" "}
                    <span className="mono" title={`${row.batch_name}, id ${row.batch}`}>
                      {shortName(row.batch_name)}
                    </span>
                    , arrived{" "}
                    <span title={exactTime(row.arrived_at)}>{clockText(row.arrived_at)} UTC</span>
                  </span>
                  {row.is_whole ? null : (
                    <span className="muted">Not a whole row: it fits only in other words.</span>
                  )}
                  {row.is_cut ? (
                    <span className="muted">
                      Longer than is shown, so it cannot be amended here.
                    </span>
                  ) : onAmend ? (
                    <Command small icon="edit" onClick={() => onAmend(row)}>
                      Amend
                    </Command>
                  ) : null}
                </div>
                <pre>
                  {row.content}
                  {row.is_cut ? "\u2026" : ""}
                </pre>
              </li>
            ))}
          </ul>
          {pagerOf(page, "rows", address)}
        </>
      )}
    </QueryBody>
  );
}
