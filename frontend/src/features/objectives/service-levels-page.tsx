/** How the objectives of a system held: a row each, with the minutes of the one that is opened. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";

import "./objectives.css";

import { ObjectiveDetail } from "./objective-detail";
import {
  budgetText,
  promiseText,
  QUANTITIES,
  rateOfBurn,
  STANDINGS,
  stretchText,
  valueText,
  type Quantity,
  type Standing,
} from "@/components/ui/objective-words";

import { sloComplianceQuery, type SloCompliance } from "@/api/objectives";
import { useSystem } from "@/api/systems";
import type { Column } from "@/components/ui/data-table";
import { ListPanel } from "@/components/ui/list-panel";
import { pageAsked, useListAddress } from "@/components/ui/list-tools";
import { PageHead } from "@/components/ui/page";
import { FilterSelect } from "@/components/ui/select";
import { Badge } from "@/components/ui/state-badge";
import { useCurrentSystemIs } from "@/lib/current-system";
import { to } from "@/lib/kinds";
import { fixed, percentText, UNKNOWN } from "@/lib/numbers";
import { exactTime } from "@/lib/time";

export default function ServiceLevelsPage() {
  const { systemId = "" } = useParams();
  return <ServiceLevels key={systemId} system={systemId} />;
}

/** What is left of a budget as a bar; empty where it is spent. */
function BudgetBar({ left }: { left: number }) {
  const share = Math.min(1, Math.max(0, left));
  return (
    <span className={`budgetbar${left <= 0 ? " spent" : ""}`} aria-hidden="true">
      <i style={{ width: `${share * 100}%` }} />
    </span>
  );
}

const COLUMNS: Column<SloCompliance>[] = [
  {
    key: "standing",
    title: "State",
    cell: ({ standing }) => {
      const { tone, icon, word, about } = STANDINGS[standing];
      return (
        <Badge tone={tone} icon={icon} title={about}>
          {word}
        </Badge>
      );
    },
  },
  {
    key: "name",
    title: "Objective",
    orderBy: "name",
    cell: (row) => (
      <Link className="clip" to={to.object(row.system, "slos", row.id)}>
        {row.name}
      </Link>
    ),
  },
  {
    key: "topic",
    title: "Topic",
    orderBy: "topic__name",
    cell: (row) => (
      <Link className="clip" to={to.object(row.system, "topics", row.topic)}>
        {row.topic_name}
      </Link>
    ),
  },
  { key: "promise", title: "Promise", cell: promiseText },
  {
    key: "held",
    title: "Held in",
    number: true,
    strong: true,
    cell: (row) => (
      <span
        title={`${fixed(row.measured_minutes - row.missed_minutes)} of ${fixed(row.measured_minutes)} measured minutes`}
      >
        {percentText(row.share_held, 2)}
      </span>
    ),
  },
  {
    key: "budget",
    title: "Budget left",
    number: true,
    cell: (row) => (
      <span
        className="budget"
        title={`${fixed(row.missed_minutes)} of ${fixed(row.budget_minutes, 1)} minutes that may be missed`}
      >
        {row.budget_left === null ? null : <BudgetBar left={row.budget_left} />}
        {budgetText(row.budget_left)}
      </span>
    ),
  },
  {
    key: "burn",
    title: "Burns",
    number: true,
    cell: ({ measured_minutes, burns: [burn] }) =>
      burn === undefined || measured_minutes === 0 ? (
        UNKNOWN
      ) : (
        <span
          title={`Over ${stretchText(burn)}: ${rateOfBurn(burn.long_burn)} and ${rateOfBurn(burn.short_burn)}; at 1× the budget lasts exactly one window.`}
        >
          {rateOfBurn(burn.long_burn)}
        </span>
      ),
  },
  {
    key: "latest",
    title: "Last minute",
    number: true,
    cell: ({ quantity, latest }) =>
      latest === null ? (
        UNKNOWN
      ) : (
        <span title={`The minute from ${exactTime(latest.at)}`}>
          {valueText(quantity, latest.value)}
        </span>
      ),
  },
];

function ServiceLevels({ system }: { system: string }) {
  useCurrentSystemIs(system);
  const name = useSystem(system).data?.name ?? "System";
  const address = useListAddress(["quantity", "standing", "open"], "name");
  const { quantity = "", standing = "", open = "" } = address.filters;
  const rows = useQuery({
    ...sloComplianceQuery(system, {
      ...pageAsked(address),
      quantity: quantity in QUANTITIES ? (quantity as Quantity) : undefined,
      standing: standing in STANDINGS ? (standing as Standing) : undefined,
    }),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <PageHead
        title="Service levels"
        crumbs={[{ label: name, to: to.system(system) }]}
        plainFacts={<span>how objectives held by what was measured, minute by minute</span>}
      />
      <div className="main servicelevels">
        <ListPanel
          title="Objectives"
          query={rows}
          address={address}
          kept={["open"]}
          search="Search by name or topic"
          tools={
            <>
              <FilterSelect
                label="State"
                value={standing}
                options={Object.entries(STANDINGS).map(([value, { word }]) => ({
                  value,
                  label: word,
                }))}
                onChange={(value) => address.setFilter("standing", value)}
              />
              <FilterSelect
                label="Quantity"
                value={quantity}
                options={Object.entries(QUANTITIES).map(([value, label]) => ({ value, label }))}
                onChange={(value) => address.setFilter("quantity", value)}
              />
            </>
          }
          columns={COLUMNS}
          onOpen={(row) => address.setFilter("open", row.id === open ? "" : row.id)}
          under={(row) => (row.id === open ? <ObjectiveDetail row={row} /> : null)}
          empty={
            <>
              Objectives promise a delay, a rate or a loss of a topic; what is measured is held
              against them here.
            </>
          }
          command={
            <Link className="btn primary sm" to={to.kind(system, "slos")}>
              SLOs of the system
            </Link>
          }
        />
      </div>
    </>
  );
}
