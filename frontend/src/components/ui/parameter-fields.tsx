/** Fields drawn from the API's description of parameters: a new optimizer or utility kind needs no code here. */
import { useState } from "react";

import { Note } from "./dialogs";
import { CheckField, ChoiceField, NumberField, TextArea, TextField } from "./fields";
import { Icon } from "./icons";

import { countText, fixed } from "@/lib/numbers";
import {
  bendsUp,
  isApplicable,
  labelOf,
  readNumber,
  type Parameter,
  type ParameterDraft,
  type Point,
} from "@/lib/parameters";
import { messageFor, type FieldProblem } from "@/lib/problem";

function range(parameter: Parameter): string {
  const { minimum, maximum } = parameter;
  if (minimum !== null && maximum !== null) return ` ${short(minimum)} to ${short(maximum)}.`;
  if (minimum !== null) return ` At least ${short(minimum)}.`;
  return maximum !== null ? ` At most ${short(maximum)}.` : "";
}

const short = (value: number) =>
  Math.abs(value) > 0 && Math.abs(value) < 0.001 ? String(value) : fixed(value, value % 1 ? 3 : 0);

const sentence = (text: string) => (text === "" || /[.!?]$/.test(text) ? text : `${text}.`);

function PointRows({
  label,
  points,
  onChange,
  errors,
  path,
  disabled,
}: {
  label: string;
  points: Point[];
  onChange: (points: Point[]) => void;
  errors: readonly FieldProblem[];
  path: string;
  disabled: boolean;
}) {
  const numbers = points.map(
    (point) => [readNumber(point.rate) ?? NaN, readNumber(point.utility) ?? NaN] as const,
  );
  const bad = bendsUp(numbers);
  const set = (index: number, change: Partial<Point>) =>
    onChange(points.map((point, i) => (i === index ? { ...point, ...change } : point)));
  const add = () => {
    const last = numbers.at(-1) ?? [0, 0];
    onChange([...points, { rate: String(last[0] * 2 || 10), utility: String(last[1]) }]);
  };
  const whole = messageFor(errors, path);
  return (
    <fieldset className="field wide" disabled={disabled}>
      <legend className="lab">{label}: rate in msg/s, utility</legend>
      <div style={{ display: "grid", gap: 6 }}>
        {points.map((point, index) => {
          const message = errors.find((error) => error.field.startsWith(`${path}[${index}]`));
          const wrong = message !== undefined || bad.includes(index);
          return (
            <div key={index}>
              <div className="prow">
                <span className="faint">{index}</span>
                <span className={wrong ? "inp err" : "inp"}>
                  <input
                    className="r"
                    inputMode="decimal"
                    aria-label={`Rate of point ${index}`}
                    value={point.rate}
                    onChange={(event) => set(index, { rate: event.target.value })}
                  />
                  <span className="u">msg/s</span>
                </span>
                <span className={wrong ? "inp err" : "inp"}>
                  <input
                    className="r"
                    inputMode="decimal"
                    aria-label={`Utility of point ${index}`}
                    value={point.utility}
                    onChange={(event) => set(index, { utility: event.target.value })}
                  />
                </span>
                {points.length > 1 && !disabled ? (
                  <button
                    type="button"
                    className="iconbtn"
                    aria-label={`Remove point ${index}`}
                    title="Remove"
                    onClick={() => onChange(points.filter((_, i) => i !== index))}
                  >
                    <Icon name="x" small />
                  </button>
                ) : null}
              </div>
              {message ? (
                <span className="msg">
                  <Icon name="alert" small />
                  {message.message}
                </span>
              ) : null}
            </div>
          );
        })}
      </div>
      {whole ? (
        <span className="msg">
          <Icon name="alert" small />
          {whole}
        </span>
      ) : null}
      {bad.length > 0 ? (
        <span className="msg">
          <Icon name="alert" small />
          Point {bad.join(", ")} bends upwards; slopes must fall from point to point.
        </span>
      ) : null}
      {disabled ? null : (
        <span>
          <button type="button" className="btn sm" onClick={add}>
            <Icon name="plus" small />
            Add point
          </button>
        </span>
      )}
    </fieldset>
  );
}

/** The parameters of a method, folded away until somebody wants them or one of them is wrong. */
export function MethodParameters({
  method,
  draft,
  onChange,
  errors,
}: {
  method: { title: string; parameters: readonly Parameter[] } | undefined;
  draft: ParameterDraft;
  onChange: (draft: ParameterDraft) => void;
  errors: readonly FieldProblem[];
}) {
  const [unfolded, setUnfolded] = useState(false);
  if (!method || method.parameters.length === 0) return null;
  const shown = unfolded || errors.some(({ field }) => field.startsWith("parameters"));
  const whole = messageFor(errors, "parameters");
  return (
    <>
      <span>
        <button
          type="button"
          className="link"
          aria-expanded={shown}
          onClick={() => setUnfolded((before) => !before)}
        >
          {shown ? "Hide" : "Show"} the {countText(method.parameters.length, "parameter")} of{" "}
          {method.title}
        </button>
      </span>
      {whole ? <Note tone="bad">{whole}</Note> : null}
      {shown ? (
        <ParameterFields
          parameters={method.parameters}
          draft={draft}
          onChange={onChange}
          errors={errors}
        />
      ) : null}
    </>
  );
}

export function ParameterFields({
  parameters,
  draft,
  onChange,
  errors,
  path = "parameters",
  disabled = false,
}: {
  parameters: readonly Parameter[];
  draft: ParameterDraft;
  onChange: (draft: ParameterDraft) => void;
  errors: readonly FieldProblem[];
  path?: string;
  disabled?: boolean;
}) {
  return (
    <div className="grid2">
      {parameters.map((parameter) => {
        if (!isApplicable(parameter, draft)) return null;
        const field = `${path}.${parameter.name}`;
        const value = draft[parameter.name];
        const set = (next: string | boolean | Point[]) =>
          onChange({ ...draft, [parameter.name]: next });
        const common = {
          label: parameter.label || labelOf(parameter.name),
          hint: sentence(parameter.help) + range(parameter),
          error: messageFor(errors, field),
          disabled,
        };
        if (Array.isArray(value)) {
          return (
            <PointRows
              key={parameter.name}
              label={common.label}
              points={value}
              onChange={set}
              errors={errors}
              path={field}
              disabled={disabled}
            />
          );
        }
        if (typeof value === "boolean") {
          return <CheckField key={parameter.name} {...common} value={value} onChange={set} />;
        }
        if (parameter.type === "mapping") {
          return (
            <div key={parameter.name} className="wide">
              <TextArea
                {...common}
                hint={`${common.hint} One a line, as name: value.`}
                required={false}
                value={value ?? ""}
                onChange={set}
              />
            </div>
          );
        }
        const choices = parameter.choices ?? [];
        if (choices.length > 0) {
          return (
            <ChoiceField
              key={parameter.name}
              {...common}
              options={choices.map((one) => ({ value: one, label: labelOf(one) }))}
              value={value ?? ""}
              onChange={set}
            />
          );
        }
        if (parameter.type === "string") {
          return <TextField key={parameter.name} {...common} value={value ?? ""} onChange={set} />;
        }
        return (
          <NumberField
            key={parameter.name}
            {...common}
            unit={parameter.unit ?? undefined}
            value={value ?? ""}
            onChange={set}
          />
        );
      })}
    </div>
  );
}
