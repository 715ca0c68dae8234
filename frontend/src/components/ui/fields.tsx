/** Form fields: label, unit, hint, and the message of the server at the field that it is about. */
import { MultiSelect, Select, TagsInput } from "@mantine/core";
import { useId } from "react";

import { Icon } from "./icons";

type Common = {
  label: string;
  hint?: React.ReactNode;
  error?: string;
  required?: boolean;
  disabled?: boolean;
};

/** The frame of one field. `children` gets the ids to hang on its control. */
export function Field({
  label,
  hint,
  error,
  required,
  children,
}: Common & {
  children: (ids: {
    id: string;
    "aria-describedby": string | undefined;
    "aria-invalid": true | undefined;
  }) => React.ReactNode;
}) {
  const id = useId();
  const hintId = `${id}-hint`;
  const errorId = `${id}-error`;
  const described = [error ? errorId : "", hint ? hintId : ""].filter(Boolean).join(" ");
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {required === false ? <span className="req">optional</span> : null}
      </label>
      {children({
        id,
        "aria-describedby": described || undefined,
        "aria-invalid": error ? true : undefined,
      })}
      {error ? (
        <span className="msg" id={errorId}>
          <Icon name="alert" small />
          {error}
        </span>
      ) : null}
      {hint ? <small id={hintId}>{hint}</small> : null}
    </div>
  );
}

export function TextField({
  value,
  onChange,
  type = "text",
  autoComplete,
  placeholder,
  focus = false,
  maxLength,
  ...common
}: Common & {
  value: string;
  onChange: (value: string) => void;
  type?: "text" | "password" | "email" | "datetime-local" | "time";
  autoComplete?: string;
  placeholder?: string;
  /** Where a dialog starts. */
  focus?: boolean;
  maxLength?: number;
}) {
  return (
    <Field {...common}>
      {(ids) => (
        <span className={common.error ? "inp err" : "inp"}>
          <input
            {...ids}
            type={type}
            value={value}
            maxLength={maxLength}
            placeholder={placeholder}
            autoComplete={autoComplete ?? "off"}
            data-autofocus={focus || undefined}
            disabled={common.disabled}
            required={common.required}
            onChange={(event) => onChange(event.target.value)}
          />
        </span>
      )}
    </Field>
  );
}

export function TextArea({
  value,
  onChange,
  ...common
}: Common & { value: string; onChange: (value: string) => void }) {
  return (
    <Field {...common}>
      {(ids) => (
        <textarea
          {...ids}
          className={common.error ? "inp err" : "inp"}
          value={value}
          disabled={common.disabled}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

/** Numbers stay text while they are typed; what is no number is refused by name, not dropped. */
export function parseNumber(text: string): number | null | undefined {
  const plain = text.replaceAll(",", "").replaceAll("\u2212", "-").trim();
  if (plain === "") return null;
  const value = Number(plain);
  return Number.isFinite(value) ? value : undefined;
}

export function NumberField({
  value,
  onChange,
  unit,
  ...common
}: Common & { value: string; onChange: (value: string) => void; unit?: string }) {
  return (
    <Field {...common}>
      {(ids) => (
        <span className={common.error ? "inp err" : "inp"}>
          <input
            {...ids}
            className="r"
            type="text"
            inputMode="decimal"
            autoComplete="off"
            value={value}
            disabled={common.disabled}
            required={common.required}
            onChange={(event) => onChange(event.target.value)}
          />
          {unit ? <span className="u">{unit}</span> : null}
        </span>
      )}
    </Field>
  );
}

export type Option = {
  value: string;
  label: string;
  /** It is shown, and cannot be chosen. */
  disabled?: boolean;
};

export function ChoiceField({
  value,
  onChange,
  options,
  ...common
}: Common & { value: string; onChange: (value: string) => void; options: readonly Option[] }) {
  return (
    <Field {...common}>
      {(ids) => (
        <select
          {...ids}
          className={common.error ? "inp err" : "inp"}
          value={value}
          disabled={common.disabled}
          required={common.required}
          onChange={(event) => onChange(event.target.value)}
        >
          {common.required === false || value === "" ? <option value="">{"\u2013"}</option> : null}
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Pick one of many by typing a part of its name; the options come from the server. */
export function PickField({
  value,
  onChange,
  options,
  onSearch,
  loading = false,
  ...common
}: Common & {
  value: string;
  onChange: (value: string) => void;
  options: readonly Option[];
  onSearch?: (text: string) => void;
  loading?: boolean;
}) {
  return (
    <Field {...common}>
      {(ids) => (
        <Select
          {...ids}
          value={value || null}
          data={[...options]}
          onChange={(next) => onChange(next ?? "")}
          onSearchChange={onSearch}
          searchable
          clearable={common.required === false}
          clearButtonProps={{ "aria-label": `Clear ${common.label}` }}
          disabled={common.disabled}
          error={common.error ? true : undefined}
          nothingFoundMessage={loading ? "Searching\u2026" : "Nothing of that name"}
          placeholder="Type to search"
          comboboxProps={{ withinPortal: true }}
          withCheckIcon={false}
          autoComplete="off"
        />
      )}
    </Field>
  );
}

export function PickManyField({
  value,
  onChange,
  options,
  onSearch,
  ...common
}: Common & {
  value: string[];
  onChange: (value: string[]) => void;
  options: readonly Option[];
  onSearch?: (text: string) => void;
}) {
  return (
    <Field {...common}>
      {(ids) => (
        <MultiSelect
          {...ids}
          value={value}
          data={[...options]}
          onChange={onChange}
          onSearchChange={onSearch}
          searchable
          hidePickedOptions
          disabled={common.disabled}
          error={common.error ? true : undefined}
          nothingFoundMessage="Nothing of that name"
          placeholder={value.length === 0 ? "Type to search" : undefined}
        />
      )}
    </Field>
  );
}

export function WordsField({
  value,
  onChange,
  holdCommas = false,
  ...common
}: Common & {
  value: string[];
  onChange: (value: string[]) => void;
  /** Whether a comma is part of a word instead of its end. */
  holdCommas?: boolean;
}) {
  return (
    <Field {...common}>
      {(ids) => (
        <TagsInput
          {...ids}
          value={value}
          onChange={onChange}
          splitChars={holdCommas ? [] : [","]}
          // Words that differ in case alone are two.
          isDuplicate={(word, words) => words.includes(word)}
          disabled={common.disabled}
          error={common.error ? true : undefined}
        />
      )}
    </Field>
  );
}

export function CheckField({
  label,
  hint,
  value,
  onChange,
  error,
}: Common & { value: boolean; onChange: (value: boolean) => void }) {
  const id = useId();
  return (
    <div className="field">
      <label className="check" htmlFor={id}>
        <input
          id={id}
          type="checkbox"
          checked={value}
          onChange={(event) => onChange(event.target.checked)}
        />
        <span>
          {label}
          {hint ? <small>{hint}</small> : null}
        </span>
      </label>
      {error ? (
        <span className="msg">
          <Icon name="alert" small />
          {error}
        </span>
      ) : null}
    </div>
  );
}
