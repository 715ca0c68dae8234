/** How plans may look: planners, limits, frozen parts, what an action costs. */
import { useState } from "react";

import {
  PRICES,
  WEIGHT_NAMES,
  type EvaluateDraft,
  type PriceName,
  type WeightName,
} from "./evaluate-draft";
import { ToolChecks } from "./tool-checks";

import type { CatalogTypes } from "@/api/catalog";
import type { TopologyTool } from "@/api/evaluations";
import { natural } from "@/components/map/places";
import {
  CheckField,
  ChoiceField,
  NumberField,
  PickManyField,
  TextField,
} from "@/components/ui/fields";

const PRICE_WORDS: Record<PriceName, { label: string; hint: string }> = {
  shift: { label: "Shift", hint: "One end of a link slides along another link." },
  append: { label: "Append", hint: "A new broker is linked." },
  detach: { label: "Detach", hint: "A broker without others behind it is taken out." },
  move: { label: "Move", hint: "Left empty: not allowed. An end goes anywhere in one action." },
  exchange: { label: "Exchange", hint: "Left empty: not allowed. One link for any other." },
};

const WEIGHT_WORDS: Record<WeightName, { label: string; hint: string }> = {
  per_message: { label: "Message on a link", hint: "Each message, on each link that it crosses." },
  per_second: {
    label: "Second on a link",
    hint: "Weighs the messages in flight: long links cost more.",
  },
  per_overload: { label: "Message above capacity", hint: "Of a broker or a link." },
};

/** More brokers than this are found by typing only. */
const OFFERED = 300;

function useFreeze(
  brokers: readonly CatalogTypes["brokers"][],
  tree: readonly { a: string; b: string }[],
) {
  const [brokerText, setBrokerText] = useState("");
  const [linkText, setLinkText] = useState("");
  const some = <Of extends { label: string }>(all: readonly Of[], text: string) => {
    const wanted = text.trim().toLowerCase();
    return all.filter(({ label }) => label.toLowerCase().includes(wanted)).slice(0, OFFERED);
  };
  const names = brokers.map(({ name }) => name).sort(natural);
  const links = tree.map(({ a, b }): [string, string] => (natural(a, b) <= 0 ? [a, b] : [b, a]));
  links.sort((x, y) => natural(x.join(), y.join()));
  return {
    brokers: some(
      names.map((name) => ({ value: name, label: name })),
      brokerText,
    ),
    links: some(
      links.map(([a, b]) => ({ value: `${a}\n${b}`, label: `${a} \u2013 ${b}` })),
      linkText,
    ),
    setBrokerText,
    setLinkText,
  };
}

export function EvaluateOptions({
  planners,
  brokers,
  tree,
  draft,
  set,
  message,
}: {
  planners: readonly TopologyTool[];
  brokers: readonly CatalogTypes["brokers"][];
  tree: readonly { a: string; b: string }[];
  draft: EvaluateDraft;
  set: (change: Partial<EvaluateDraft>) => void;
  /** What is wrong with a field. */
  message: (field: string) => string | undefined;
}) {
  const freeze = useFreeze(brokers, tree);
  return (
    <>
      <ToolChecks
        legend="Planners"
        tools={planners}
        chosen={draft.planners}
        onChange={(chosen) => set({ planners: chosen })}
        error={message("planners")}
      />
      <div className="grid2">
        <NumberField
          label="Maximum degree"
          unit="links"
          required={false}
          value={draft.maxDegree}
          onChange={(maxDegree) => set({ maxDegree })}
          hint="No broker ever has more, in any order of a step."
          error={message("options.max_degree")}
        />
        <NumberField
          label="Seeds"
          value={draft.seeds}
          onChange={(seeds) => set({ seeds })}
          hint="1 to 16 tries of every method and planner that draws lots; the best counts."
          error={message("seeds")}
        />
        <ChoiceField
          label="In parallel"
          required
          options={[
            { value: "broker-disjoint", label: "Broker-disjoint" },
            { value: "paper", label: "As in the paper" },
          ]}
          value={draft.parallel}
          onChange={(parallel) => set({ parallel: parallel as EvaluateDraft["parallel"] })}
          hint={
            draft.parallel === "paper"
              ? "Actions may share a broker where no order of them can break the tree: fewer steps."
              : "No broker takes part in two actions of one step: the calmest, with more steps."
          }
          error={message("options.parallel")}
        />
        <CheckField
          label="Goal links may move"
          hint="Links of both trees may be taken away and made again: can save many actions."
          value={draft.moveGoalLinks}
          onChange={(moveGoalLinks) => set({ moveGoalLinks })}
          error={message("options.move_goal_links")}
        />
      </div>
      <PickManyField
        label="Frozen brokers"
        required={false}
        hint="Take part in no action and keep their links."
        options={freeze.brokers}
        onSearch={freeze.setBrokerText}
        value={draft.frozenBrokers}
        onChange={(frozenBrokers) => set({ frozenBrokers })}
        error={message("options.frozen")}
      />
      <PickManyField
        label="Frozen links"
        required={false}
        hint="Are never removed; every goal has them."
        options={freeze.links}
        onSearch={freeze.setLinkText}
        value={draft.frozenLinks}
        onChange={(frozenLinks) => set({ frozenLinks })}
      />
      <fieldset className="field">
        <legend className="lab">Costs of one action</legend>
        <div className="pricegrid">
          {PRICES.map((name) => (
            <NumberField
              key={name}
              label={PRICE_WORDS[name].label}
              hint={PRICE_WORDS[name].hint}
              required={name === "move" || name === "exchange" ? false : undefined}
              value={draft.prices[name]}
              onChange={(price) => set({ prices: { ...draft.prices, [name]: price } })}
              error={message(`options.action_costs.${name}`)}
            />
          ))}
        </div>
      </fieldset>
      <fieldset className="field">
        <legend className="lab">Costs of routing</legend>
        <div className="pricegrid">
          {WEIGHT_NAMES.map((name) => (
            <NumberField
              key={name}
              label={WEIGHT_WORDS[name].label}
              hint={WEIGHT_WORDS[name].hint}
              value={draft.weights[name]}
              onChange={(weight) => set({ weights: { ...draft.weights, [name]: weight } })}
              error={message(`weights.${name}`)}
            />
          ))}
        </div>
      </fieldset>
      <TextField
        label="Note"
        required={false}
        maxLength={2000}
        hint="Why this is asked; kept with the evaluation."
        value={draft.note}
        onChange={(note) => set({ note })}
      />
    </>
  );
}
