/** Plans: what waits for me, what is open, what was carried out. */
import { Link } from "react-router";

import { headwayOf } from "./phases";
import { stateShown } from "./words";

import type { ListQuery } from "@/api/catalog";
import { plansQuery, type Plan, type PlansQuery } from "@/api/plans";
import type { Column } from "@/components/ui/data-table";
import { ListPage } from "@/components/ui/list-page";
import { StateBadge } from "@/components/ui/state-badge";
import { planKind, planKinds } from "@/lib/computations";
import { to } from "@/lib/kinds";
import { countText, fixed, UNKNOWN } from "@/lib/numbers";
import { ageText, exactTime } from "@/lib/time";

const TABS: readonly { value: string; label: string; query: PlansQuery; empty: string }[] = [
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
  { key: "kind", title: "Kind", orderBy: "kind", cell: (plan) => planKind(plan.kind).word },
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

const plansOf = (asked: ListQuery, tab: string) =>
  plansQuery({ ...TABS.find(({ value }) => value === tab)?.query, ...asked });

export default function PlansPage() {
  return (
    <ListPage
      title="Plans"
      about="A plan is the steps from what is in force to what was proposed; people approve it before any broker changes."
      query={plansOf}
      choice={{ name: "tab", label: "Which plans", usual: "open", options: TABS }}
      search="Find plans"
      filters={[
        "system",
        {
          name: "kind",
          label: "Kind",
          options: planKinds().map(({ kind, word }) => ({ value: kind, label: word })),
        },
      ]}
      who="Author"
      columns={COLUMNS}
      address={(plan) => to.plan(plan.id)}
      tall
    />
  );
}
