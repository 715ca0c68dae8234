/** Every edit of one object: who, when, what, why. */
import { useQuery } from "@tanstack/react-query";

import { auditQuery } from "@/api/administration";
import { AuditTrail } from "@/components/ui/audit-trail";
import { Panel, QueryBody } from "@/components/ui/panel";
import { countText } from "@/lib/numbers";

export function HistoryPanel({ object }: { object: string }) {
  const audit = useQuery(auditQuery({ object, page_size: 20 }));
  const count = audit.data?.count;
  return (
    <Panel title="History" sub={count === undefined ? undefined : countText(count, "edit")}>
      <QueryBody query={audit} what="History" rows={3}>
        {(page) =>
          page.results.length === 0 ? (
            <p className="muted">Edits of this object will appear here.</p>
          ) : (
            <AuditTrail entries={page.results} />
          )
        }
      </QueryBody>
    </Panel>
  );
}
