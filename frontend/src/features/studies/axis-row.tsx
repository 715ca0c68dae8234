/** One quantity of a sweep: what it is, of which things, from where to where. */
import {
  newAxis,
  QUANTITIES,
  type AxisDraft,
  type By,
  type Quantity,
  type Spread,
} from "./quantities";
import type { FieldError } from "./spec";

import { CheckField, ChoiceField, NumberField, PickManyField } from "@/components/ui/fields";
import { Icon } from "@/components/ui/icons";
import { messageFor } from "@/lib/problem";

export type Names = Record<By, string[]>;

const optionsOf = (names: readonly string[]) => names.map((name) => ({ value: name, label: name }));

const SPREADS = [
  { value: "best", label: "Where worth most" },
  { value: "in_proportion", label: "In today's proportion" },
  { value: "both", label: "Both, side by side" },
];

/** What the server says of an axis belongs to the whole row. */
function rowMessage(errors: readonly FieldError[], index: number): string | undefined {
  const at = `spec.axes[${index}]`;
  return errors.find(
    ({ field }) => field === at || (field.startsWith(at) && /^[.[]/.test(field.slice(at.length))),
  )?.message;
}

export function AxisRow({
  draft,
  index,
  place,
  names,
  resources,
  errors,
  onChange,
  onRemove,
}: {
  draft: AxisDraft;
  index: number;
  /** Its first axis in what the server reads: a budget divided two ways has two. */
  place: number;
  names: Names;
  resources: readonly string[];
  errors: readonly FieldError[];
  onChange: (draft: AxisDraft) => void;
  onRemove?: () => void;
}) {
  const look = QUANTITIES[draft.quantity];
  const at = `axes[${index}]`;
  const set = (change: Partial<AxisDraft>) => onChange({ ...draft, ...change });
  const whole = rowMessage(errors, place);
  const isBudget = draft.quantity === "budget";
  const several = resources.length > 1 && (draft.quantity === "node_capacity" || isBudget);
  const what = index === 0 ? "Vary" : "And vary";
  const { by } = draft;
  return (
    <fieldset className="axisrow">
      <legend className="clipped">{what}</legend>
      <div className="axisfields">
        <ChoiceField
          label={what}
          options={Object.entries(QUANTITIES).map(([value, { label }]) => ({ value, label }))}
          value={draft.quantity}
          onChange={(next) => {
            const fresh = newAxis(next as Quantity, draft.resource || (resources[0] ?? ""));
            onChange({ ...fresh, from: draft.from, to: draft.to, steps: draft.steps });
          }}
        />
        {look.of.length > 1 ? (
          <ChoiceField
            label="Chosen by"
            options={look.of.map((one) => ({
              value: one,
              label: one.charAt(0).toUpperCase() + one.slice(1),
            }))}
            value={by}
            onChange={(next) => set({ by: next as By, targets: [] })}
          />
        ) : null}
        <PickManyField
          label={look.varies === "each" ? `Which ${by}, one after the other` : `Of which ${by}`}
          hint={draft.targets.length === 0 ? `All ${names[by].length} of them.` : undefined}
          options={optionsOf(names[by])}
          value={draft.targets}
          onChange={(targets) => set({ targets })}
          error={messageFor(errors, `${at}.targets`)}
        />
        {several ? (
          <ChoiceField
            label="Resource"
            required={isBudget}
            options={optionsOf(resources)}
            value={draft.resource}
            onChange={(resource) => set({ resource })}
            error={messageFor(errors, `${at}.resource`)}
          />
        ) : null}
        {isBudget ? (
          <ChoiceField
            label="Divided"
            options={SPREADS}
            value={draft.spread}
            onChange={(spread) => set({ spread: spread as Spread })}
          />
        ) : null}
        {look.varies === "range" ? (
          <div className="axisrange">
            <NumberField
              label="From"
              unit="%"
              value={draft.from}
              onChange={(from) => set({ from })}
              error={messageFor(errors, `${at}.from`)}
            />
            <NumberField
              label="To"
              unit="%"
              value={draft.to}
              onChange={(upTo) => set({ to: upTo })}
              error={messageFor(errors, `${at}.to`)}
            />
            <NumberField
              label="Points"
              value={draft.steps}
              onChange={(steps) => set({ steps })}
              error={messageFor(errors, `${at}.steps`)}
            />
          </div>
        ) : null}
      </div>
      <p className="lead">{look.hint}</p>
      {isBudget ? (
        <UnitCosts draft={draft} at={at} names={names[by]} errors={errors} onChange={onChange} />
      ) : null}
      {whole ? (
        <span className="msg" role="alert">
          <Icon name="alert" small />
          {whole}
        </span>
      ) : null}
      {onRemove ? (
        <button
          type="button"
          className="iconbtn"
          aria-label={`Remove quantity ${index + 1}`}
          title="Remove"
          onClick={onRemove}
        >
          <Icon name="x" small />
        </button>
      ) : null}
    </fieldset>
  );
}

/** Where a unit of capacity does not cost the same everywhere, the budget is money. */
function UnitCosts({
  draft,
  at,
  names,
  errors,
  onChange,
}: {
  draft: AxisDraft;
  at: string;
  names: readonly string[];
  errors: readonly FieldError[];
  onChange: (draft: AxisDraft) => void;
}) {
  const shown = draft.targets.length > 0 ? draft.targets : names;
  const differ = Object.keys(draft.costs).length > 0;
  return (
    <>
      <CheckField
        label="A unit costs more at some brokers than at others"
        hint="The budget is then money: cost of a unit times capacity, summed over the brokers."
        value={differ}
        onChange={(on) =>
          onChange({
            ...draft,
            costs: on ? Object.fromEntries(shown.map((name) => [name, "1"])) : {},
          })
        }
      />
      {differ ? (
        <div className="unitcosts">
          {shown.map((name) => (
            <NumberField
              key={name}
              label={`One unit at ${name}`}
              unit="money"
              value={draft.costs[name] ?? "1"}
              onChange={(cost) => onChange({ ...draft, costs: { ...draft.costs, [name]: cost } })}
              error={messageFor(errors, `${at}.costs.${name}`)}
            />
          ))}
        </div>
      ) : null}
    </>
  );
}
