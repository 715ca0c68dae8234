/** What is shown, of what, and for how long. */
import type { Change } from "./question";
import type { Choices, Group, Quantity, Question } from "./sums";
import { GROUPS, isDelay, isMetric, kindText, QUANTITIES } from "./words";

import { FilterSelect, Select, type Option } from "@/components/ui/select";

/** What is chosen is there, also where the time has none of it. */
const optionsOf = (names: readonly string[], chosen: string | undefined): Option[] =>
  (chosen === undefined || names.includes(chosen) ? names : [chosen, ...names]).map((name) => ({
    value: name,
    label: name,
  }));

const FILTERS: { name: Exclude<Group, "system">; of: "topics" | "consumer_classes" | "brokers" }[] =
  [
    { name: "topic", of: "topics" },
    { name: "consumer_class", of: "consumer_classes" },
    { name: "broker", of: "brokers" },
  ];

export function QuestionTools({
  quantity,
  question,
  choices,
  onChange,
}: {
  quantity: Quantity;
  question: Question | undefined;
  choices: Choices | undefined;
  onChange: (change: Change) => void;
}) {
  const { by: groups } = QUANTITIES[quantity];
  return (
    <div className="tools">
      <Select
        label="Quantity"
        value={quantity}
        options={Object.entries(QUANTITIES).map(([value, { label }]) => ({ value, label }))}
        onChange={(value) => onChange({ quantity: value })}
      />
      {isMetric(quantity) && question?.metric !== undefined ? (
        <Select
          label="Metric"
          value={question.metric}
          options={optionsOf(choices?.metrics.map(({ name }) => name) ?? [], question.metric)}
          onChange={(metric) => onChange({ metric })}
        />
      ) : null}
      {isDelay(quantity) ? (
        <Select
          label="Kind of delay"
          value={question?.kind ?? ""}
          options={optionsOf(choices?.kinds ?? [], question?.kind).map(({ value }) => ({
            value,
            label: kindText(value),
          }))}
          onChange={(kind) => onChange({ kind })}
        />
      ) : null}
      <Select
        label="Lines"
        value={question?.by ?? groups[0] ?? ""}
        options={groups.map((value) => ({
          value,
          label:
            value === "system" ? GROUPS.system.label : `by ${GROUPS[value].label.toLowerCase()}`,
        }))}
        onChange={(by) => onChange({ by })}
      />
      {FILTERS.filter(({ name }) => groups.includes(name)).map(({ name, of }) => (
        <FilterSelect
          key={name}
          label={GROUPS[name].label}
          value={question?.[name] ?? ""}
          options={optionsOf(choices?.[of].names ?? [], question?.[name])}
          onChange={(value) => onChange({ [name]: value })}
        />
      ))}
    </div>
  );
}
