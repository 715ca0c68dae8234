/** The members of a suggestion, a page at a time, with the key that each carries. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import { membersQuery, type Member, type Suggestion } from "@/api/correlation";
import { DataTable, type Column } from "@/components/ui/data-table";
import { cursorOf } from "@/components/ui/list-tools";
import { FindField } from "@/components/ui/paged";
import { Empty, QueryBody } from "@/components/ui/panel";
import { to } from "@/lib/kinds";
import { fixed } from "@/lib/numbers";
import { useStill } from "@/lib/still";

const ROWS = 50;
const STILL_MS = 250;

const columnsOf = (system: string): Column<Member>[] => [
  {
    key: "publisher",
    title: "Publisher",
    cell: ({ publisher, id }) =>
      id === null ? (
        publisher
      ) : (
        <Link className="ent" to={to.object(system, "publishers", id)}>
          {publisher}
        </Link>
      ),
  },
  {
    key: "key",
    title: "Correlation key",
    cell: ({ id, correlation_key: key }) =>
      key || <span className="faint">{id === null ? "not in the catalogue" : "none"}</span>,
  },
];

export function MembersTable({ suggestion, system }: { suggestion: Suggestion; system: string }) {
  const [typed, setTyped] = useState("");
  const [cursor, setCursor] = useState("");
  const search = useStill(typed.trim(), STILL_MS);
  const members = useQuery({
    ...membersQuery(suggestion.id, {
      search: search || undefined,
      cursor: cursor || undefined,
      page_size: ROWS,
    }),
    placeholderData: keepPreviousData,
  });
  const label = `Members of suggestion ${suggestion.number}`;
  const previous = cursorOf(members.data?.previous);
  const next = cursorOf(members.data?.next);
  return (
    <div>
      <div className="tools">
        <FindField
          label="Publisher"
          value={typed}
          onChange={(text) => {
            setTyped(text);
            setCursor("");
          }}
        />
      </div>
      <QueryBody query={members} what="The members" rows={6}>
        {({ results, count }) =>
          results.length === 0 ? (
            <Empty>No member of that name.</Empty>
          ) : (
            <>
              <DataTable
                label={label}
                columns={columnsOf(system)}
                rows={results}
                rowKey={(row) => row.publisher}
              />
              {previous === null && next === null ? null : (
                <div className="pager">
                  <span>
                    {fixed(results.length)} of {fixed(count)} publishers
                  </span>
                  <span className="r">
                    <button
                      type="button"
                      className="btn sm"
                      disabled={previous === null}
                      onClick={() => setCursor(previous ?? "")}
                    >
                      Previous page
                    </button>
                    <button
                      type="button"
                      className="btn sm"
                      disabled={next === null}
                      onClick={() => setCursor(next ?? "")}
                    >
                      Next page
                    </button>
                  </span>
                </div>
              )}
            </>
          )
        }
      </QueryBody>
    </div>
  );
}
