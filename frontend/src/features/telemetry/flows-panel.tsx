/** What enters against what may enter: the optimizer's rate, the approved one, the controller's, the measured. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import type { Schemas } from "@/api/client";
import { flowStatusQuery } from "@/api/telemetry";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { to } from "@/lib/kinds";
import { fixed, percentText, rateText, UNKNOWN } from "@/lib/numbers";

type Flow = Schemas["FlowStatus"];

/** What the gate lets pass now. */
const gateOf = (flow: Flow) => flow.controlled_per_s ?? flow.in_force_per_s;

const rate = (
  key: string,
  title: string,
  value: (flow: Flow) => number | null,
  strong = false,
): Column<Flow> => ({
  key,
  title,
  unit: "msg/s",
  number: true,
  strong,
  cell: (flow) => rateText(value(flow)),
});

const COLUMNS: Column<Flow>[] = [
  { key: "flow", title: "Flow", cell: (flow) => <b>{flow.flow}</b> },
  { key: "broker", title: "Enters at", cell: (flow) => flow.broker ?? UNKNOWN },
  rate("promised", "Optimizer", (flow) => flow.promised_per_s),
  {
    key: "approved",
    title: "Approved",
    unit: "msg/s",
    number: true,
    cell: (flow) => (flow.in_force_per_s === null ? "open" : rateText(flow.in_force_per_s)),
  },
  rate("controlled", "Controlled", (flow) => flow.controlled_per_s),
  { key: "burst", title: "Burst", unit: "msg", number: true, cell: (flow) => fixed(flow.burst) },
  rate("offered", "Offered", (flow) => flow.offered_per_s),
  rate("passed", "Passed", (flow) => flow.passed_per_s, true),
  {
    key: "use",
    title: "Of gate",
    number: true,
    cell: (flow) => {
      const gate = gateOf(flow);
      return gate && flow.passed_per_s !== null ? percentText(flow.passed_per_s / gate) : UNKNOWN;
    },
  },
  rate("shed", "Shed", (flow) => flow.shed_per_s),
  {
    key: "backlog",
    title: "Waiting",
    unit: "msg",
    number: true,
    cell: (flow) => fixed(flow.backlog),
  },
];

export function FlowsPanel({ system }: { system: string }) {
  const status = useQuery(flowStatusQuery(system));
  const data = status.data;
  return (
    <Panel
      title="Gates"
      sub="what enters, against what may enter; means of the last seconds"
      right={
        data ? (
          <>
            {data.plan && data.plan_name ? (
              <Link to={to.plan(data.plan)}>{data.plan_name}</Link>
            ) : null}
            {data.rate_control ? (
              <Badge tone="active" icon="gauge">
                Rate control on
              </Badge>
            ) : (
              <span className="faint">rate control off</span>
            )}
          </>
        ) : null
      }
      flush
    >
      <QueryBody query={status} what="The flows" rows={6}>
        {({ flows }) =>
          flows.length === 0 ? (
            <Empty>Each topic enters through a gate at its broker. This system has none yet.</Empty>
          ) : (
            <DataTable
              label="Gates"
              columns={COLUMNS}
              rows={flows}
              rowKey={(flow) => `${flow.flow} ${flow.broker ?? ""}`}
            />
          )
        }
      </QueryBody>
    </Panel>
  );
}
