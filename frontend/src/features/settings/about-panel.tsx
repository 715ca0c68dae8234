/** What this installation is and what it can compute. */
import { useQuery } from "@tanstack/react-query";

import { optimizersQuery } from "@/api/allocations";
import { runsQuery } from "@/api/runs";
import { useSession } from "@/api/session";
import { Panel, QueryBody } from "@/components/ui/panel";
import { UNKNOWN } from "@/lib/numbers";

export function AboutPanel() {
  const optimizers = useQuery(optimizersQuery);
  const latest = useQuery(runsQuery({ page_size: 1 }));
  const session = useSession().data;
  return (
    <div className="cols c-2">
      <Panel title="About" sub="Weir, the control plane for publish/subscribe systems">
        <dl className="kv" style={{ maxWidth: 420 }}>
          <dt>Kernel of the latest run</dt>
          <dd>{latest.data?.results[0]?.kernel_version || UNKNOWN}</dd>
          <dt>Signed in as</dt>
          <dd>{session?.display_name || session?.username}</dd>
          <dt>Roles</dt>
          <dd>{session?.roles.join(", ")}</dd>
          <dt>API description</dt>
          <dd>
            <a href="/api/v1/schema">OpenAPI 3</a>
          </dd>
        </dl>
      </Panel>
      <Panel title="Optimizers" flush>
        <QueryBody query={optimizers} what="Optimizers" rows={3}>
          {({ results }) => (
            <table className="tbl" aria-label="Optimizers">
              <thead>
                <tr>
                  <th scope="col">Method</th>
                  <th scope="col">What it does</th>
                </tr>
              </thead>
              <tbody>
                {results.map((method) => (
                  <tr key={method.name}>
                    <td className="ent">{method.title}</td>
                    <td style={{ whiteSpace: "normal" }}>{method.summary}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </QueryBody>
      </Panel>
    </div>
  );
}
