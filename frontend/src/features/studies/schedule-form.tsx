/** A day in segments: how many percent of each group's consumers want service, one after the other. */
import { tradingDay, type Grouping, type SegmentDraft } from "./day";
import type { FieldError, Group } from "./spec";

import { CheckField, ChoiceField } from "@/components/ui/fields";
import { Icon } from "@/components/ui/icons";
import { Scroll } from "@/components/ui/scroll";
import { countText } from "@/lib/numbers";
import { messageFor } from "@/lib/problem";

const GROUPINGS = [
  { value: "utility_name", label: "Utility function" },
  { value: "topic_name", label: "Topic" },
  { value: "broker_name", label: "Broker" },
];

export function ScheduleForm({
  groups,
  grouping,
  segments,
  warm,
  errors,
  onGrouping,
  onSegments,
  onWarm,
}: {
  groups: readonly Group[];
  grouping: Grouping;
  segments: readonly SegmentDraft[];
  warm: boolean;
  errors: readonly FieldError[];
  onGrouping: (by: Grouping) => void;
  onSegments: (segments: SegmentDraft[]) => void;
  onWarm: (warm: boolean) => void;
}) {
  const names = groups.map((group) => group.name);
  const set = (index: number, change: Partial<SegmentDraft>) =>
    onSegments(segments.map((old, i) => (i === index ? { ...old, ...change } : old)));
  const own = errors.filter((error) => /^(spec\.)?(segments|groups)/.test(error.field));
  return (
    <div className="form">
      <div className="grid2">
        <ChoiceField
          label="Group the classes by"
          hint={groups
            .map((group) => `${group.name}: ${countText(group.classes.length, "class", "classes")}`)
            .join(", ")}
          options={GROUPINGS}
          value={grouping}
          onChange={(by) => onGrouping(by as Grouping)}
        />
        <CheckField
          label="Each segment begins where the one before left off"
          hint="As in operation: prices, rates and populations are carried over. Without, each begins cold."
          value={warm}
          onChange={onWarm}
        />
      </div>
      <Scroll label="Segments">
        <table className="tbl tall" aria-label="Segments of the day">
          <thead>
            <tr>
              <th scope="col">Segment</th>
              <th scope="col" className="n">
                Lasts<span className="u">min</span>
              </th>
              {names.map((name) => (
                <th key={name} scope="col" className="n">
                  {name}
                  <span className="u">%</span>
                </th>
              ))}
              <th scope="col">
                <span className="clipped">Remove</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {segments.map((segment, index) => (
              <tr key={index}>
                <td>
                  <Cell
                    label={`Name of segment ${index + 1}`}
                    value={segment.label}
                    error={messageFor(errors, `segments[${index}].label`)}
                    onChange={(label) => set(index, { label })}
                  />
                </td>
                <td>
                  <Cell
                    label={`Minutes of ${segment.label || `segment ${index + 1}`}`}
                    number
                    value={segment.minutes}
                    error={messageFor(errors, `segments[${index}].minutes`)}
                    onChange={(minutes) => set(index, { minutes })}
                  />
                </td>
                {names.map((name) => (
                  <td key={name}>
                    <Cell
                      label={`${name} in ${segment.label || `segment ${index + 1}`}, percent`}
                      number
                      value={segment.percent[name] ?? "100"}
                      error={messageFor(errors, `segments[${index}].percent.${name}`)}
                      onChange={(value) =>
                        set(index, { percent: { ...segment.percent, [name]: value } })
                      }
                    />
                  </td>
                ))}
                <td className="acts">
                  {segments.length > 1 ? (
                    <button
                      type="button"
                      className="iconbtn"
                      aria-label={`Remove ${segment.label || `segment ${index + 1}`}`}
                      title="Remove"
                      onClick={() => onSegments(segments.filter((_, i) => i !== index))}
                    >
                      <Icon name="x" small />
                    </button>
                  ) : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {own.map((error) => (
        <span className="msg" role="alert" key={error.field}>
          <Icon name="alert" small />
          {error.message}
        </span>
      ))}
      <span className="row">
        <button
          type="button"
          className="btn sm"
          onClick={() => onSegments([...segments, { label: "", minutes: "60", percent: {} }])}
        >
          <Icon name="plus" small />
          Add segment
        </button>
        <button type="button" className="btn sm" onClick={() => onSegments(tradingDay(names))}>
          <Icon name="history" small />
          Take the trading day
        </button>
      </span>
    </div>
  );
}

function Cell({
  label,
  value,
  error,
  number = false,
  onChange,
}: {
  label: string;
  value: string;
  error?: string;
  number?: boolean;
  onChange: (value: string) => void;
}) {
  return (
    <span className={error ? "inp err" : "inp"} title={error}>
      <input
        className={number ? "r" : undefined}
        aria-label={label}
        aria-invalid={error ? true : undefined}
        inputMode={number ? "decimal" : undefined}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </span>
  );
}
