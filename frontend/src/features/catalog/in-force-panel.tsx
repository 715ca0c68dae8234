/** What agents carry or serve of one topic or class, beside what the model says. */
import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { Link } from "react-router";

import { modelStateQuery } from "@/api/plans";
import { Note } from "@/components/ui/dialogs";
import { Panel, QueryBody } from "@/components/ui/panel";
import { to } from "@/lib/kinds";
import { fixed, rateText } from "@/lib/numbers";

export function InForcePanel({
  system,
  kind,
  name,
  version,
}: {
  system: string;
  kind: "flow" | "class";
  name: string;
  /** Of the object: with an edit the model may say something else. */
  version: number;
}) {
  const state = useQuery(modelStateQuery({ system, kind, name }, version));
  return (
    <Panel title="In force" sub="what agents do, and what the model asks for">
      <QueryBody query={state} what="What is in force" rows={2}>
        {({ results }) => (
          <>
            <dl className="kv">
              {results.map((row) => (
                <Fragment key={row.broker ?? ""}>
                  <dt>{row.broker ? `In force at ${row.broker}` : "In force"}</dt>
                  <dd>{row.in_force}</dd>
                  <dt>Limit in force</dt>
                  <dd>
                    {row.limit === null ? (
                      "no limit in force"
                    ) : (
                      <>
                        at most {row.unit === "msg/s" ? rateText(row.limit) : fixed(row.limit)}
                        <span className="u">
                          {row.unit === "consumers" && row.limit === 1 ? "consumer" : row.unit}
                        </span>
                      </>
                    )}
                  </dd>
                  <dt>Model</dt>
                  <dd>{row.model}</dd>
                </Fragment>
              ))}
            </dl>
            {results.some((row) => row.differs) ? (
              <Note tone="warn">
                Changes with the next plan: of an allocation, or{" "}
                <Link to={to.system(system)}>of the model as it is</Link>.
              </Note>
            ) : null}
          </>
        )}
      </QueryBody>
    </Panel>
  );
}
