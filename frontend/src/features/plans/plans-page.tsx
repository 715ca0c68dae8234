/** Plans: what waits for me, what is open, what was carried out. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";

import { headwayOf } from "./phases";
import { kindWord, stateShown } from "./words";

import { plansQuery, type Plan, type PlansQuery } from "@/api/plans";
import { useSystems } from "@/api/systems";
import type { Column } from "@/components/ui/data-table";
import { ListPanel } from "@/components/ui/list-panel";
import {
  FilterSelect,
  pageAsked,
  useListAddress,
  WHO_AND_WHEN,
  WhoAndWhen,
  whoAndWhen,
} from "@/components/ui/list-tools";
import { PageHead, Segments } from "@/components/ui/page";
import { StateBadge } from "@/components/ui/state-badge";
import { to } from "@/lib/kinds";
import { countText, fixed, UNKNOWN } from "@/lib/numbers";
import { ageText, exactTime } from "@/lib/time";

type Tab = "mine" | "open" | "executed" | "all";

const TABS: readonly { value: Tab; label: string; query: PlansQuery; empty: string }[] = [
  {
    value: "mine",
    label: "Waiting for me",
    query: { waiting_for: "me" },
    empty:
      "Nothing waits for your decision. Plans of other people come here once they are sent for review.",
  },
  {
    value: "open",
    label: "Open",
    query: { state: ["draft", "pending_review", "approved", "executing"] },
    empty:
      "No plan is open. Open an allocation and press Make plan: it becomes the steps from what is in force to what was computed.",
  },
  {
    value: "executed",
    label: "Executed",
    query: { state: ["executed"] },
    empty: "No plan was carried out yet. An approved plan is executed from its page.",
  },
  {
    value: "all",
    label: "All",
    query: {},
    empty:
      "A plan comes from an allocation: open one and press Make plan. Somebody else then reads, approves and executes it.",
  },
];

function Progress({ plan }: { plan: Plan }) {
  const execution = plan.execution;
  if (!execution) return <span className="faint">{UNKNOWN}</span>;
  const { done, total, back, share } = headwayOf(execution);
  const tone =
    execution.state === "succeeded"
      ? " done"
      : ["failed", "stopped", "rolling_back", "rolled_back"].includes(execution.state)
        ? " warn"
        : "";
  return (
    <span className={`progresscell${tone}`} title={execution.state.replaceAll("_", " ")}>
      <i aria-hidden="true">
        <b style={{ width: `${share * 100}%` }} />
      </i>
      {fixed(done)} of {fixed(total)}
      {back ? " back" : ""}
    </span>
  );
}

/** Since when somebody should look at it; a settled plan waits for nobody. */
const since = (plan: Plan) =>
  plan.state === "pending_review" ? (plan.waiting_since ?? plan.created_at) : plan.created_at;

const COLUMNS: Column<Plan>[] = [
  {
    key: "name",
    title: "Plan",
    orderBy: "number",
    cell: (plan) => (
      <div className="planname">
        <Link className="ent" to={to.plan(plan.id)}>
          {plan.name}
        </Link>
        <span title={plan.title}>{plan.title}</span>
      </div>
    ),
  },
  {
    key: "state",
    title: "State",
    orderBy: "state",
    cell: (plan) => <StateBadge state={stateShown(plan)} />,
  },
  {
    key: "system",
    title: "System",
    cell: (plan) => <Link to={to.topology(plan.system)}>{plan.system_name}</Link>,
  },
  { key: "kind", title: "Kind", orderBy: "kind", cell: (plan) => kindWord(plan.kind) },
  { key: "author", title: "Author", cell: (plan) => plan.author ?? "Weir" },
  {
    key: "age",
    title: "Waiting, age",
    number: true,
    orderBy: "created_at",
    cell: (plan) => (
      <span
        className={plan.state === "pending_review" ? undefined : "faint"}
        title={
          plan.state === "pending_review"
            ? `waiting since ${exactTime(since(plan))}`
            : `made ${exactTime(plan.created_at)}`
        }
      >
        {ageText(since(plan))}
      </span>
    ),
  },
  {
    key: "radius",
    title: "Touches",
    unit: "brokers",
    number: true,
    cell: (plan) => (
      <span
        title={`${countText(plan.blast_radius.actions, "action")}, ${countText(plan.blast_radius.topics, "topic")}`}
      >
        {fixed(plan.blast_radius.brokers)} of {fixed(plan.blast_radius.brokers_total)}
      </span>
    ),
  },
  {
    key: "approvals",
    title: "Approvals",
    number: true,
    strong: true,
    cell: (plan) => `${fixed(plan.approvals_given)} of ${fixed(plan.approvals_needed)}`,
  },
  { key: "execution", title: "Actions done", cell: (plan) => <Progress plan={plan} /> },
];

export default function PlansPage() {
  const navigate = useNavigate();
  const systems = useSystems().data?.results ?? [];
  const address = useListAddress(["tab", "system", "kind", ...WHO_AND_WHEN], "");
  const tab = TABS.find((entry) => entry.value === address.filters.tab) ?? TABS[1];
  const query: PlansQuery = {
    ...tab?.query,
    system: address.filters.system || undefined,
    kind: address.filters.kind || undefined,
    ...whoAndWhen(address.filters),
    ...pageAsked(address),
  };
  const plans = useQuery({ ...plansQuery(query), placeholderData: keepPreviousData });
  const rows = plans.data?.results ?? [];
  const kinds = [...new Set(["allocation", ...rows.map((plan) => plan.kind)])];
  return (
    <>
      <PageHead
        title="Plans"
        plainFacts={
          <span>
            A plan is the steps from what is in force to what was proposed; people approve it before
            any broker changes.
          </span>
        }
      />
      <div className="main">
        <ListPanel
          title="Plans"
          query={plans}
          address={address}
          kept={["tab"]}
          search="Find plans"
          tools={
            <>
              <FilterSelect
                label="System"
                value={address.filters.system ?? ""}
                options={systems.map((system) => ({ value: system.id, label: system.name }))}
                onChange={(value) => address.setFilter("system", value)}
              />
              <FilterSelect
                label="Kind"
                value={address.filters.kind ?? ""}
                options={kinds.map((kind) => ({ value: kind, label: kindWord(kind) }))}
                onChange={(value) => address.setFilter("kind", value)}
              />
              <WhoAndWhen address={address} who="Author" />
            </>
          }
          right={
            <Segments<Tab>
              label="Which plans"
              value={tab?.value ?? "open"}
              options={TABS}
              onChange={(value) => address.setFilter("tab", value === "open" ? "" : value)}
            />
          }
          columns={COLUMNS}
          empty={tab?.empty}
          onOpen={(plan) => void navigate(to.plan(plan.id))}
          tall
        />
      </div>
    </>
  );
}
