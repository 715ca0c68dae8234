/** The inputs that the catalog needs beyond plain fields: references, amounts by resource, rows. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { FieldSpec, Row, RowColumn } from "./spec";

import { catalogList, type CatalogKind } from "@/api/catalog";
import { keys } from "@/api/query-keys";
import { NumberField, PickField, PickManyField, type Option } from "@/components/ui/fields";
import { Icon } from "@/components/ui/icons";
import { KINDS } from "@/lib/kinds";
import { below, messageFor, type FieldProblem } from "@/lib/problem";

/** Options of a reference: what the server finds for the text typed, and the names already known. */
export function useOptions(system: string, kind: CatalogKind, known: readonly Option[]) {
  const [typed, setTyped] = useState("");
  // The picker writes the chosen label into its search; that is no search.
  const search = known.some((option) => option.label === typed) ? "" : typed;
  const query = { system, search, page_size: 50, ordering: "name" };
  const found = useQuery({
    queryKey: keys.catalog.list(kind, { ...query, pick: 1 }),
    queryFn: ({ signal }) => catalogList(kind, query, signal),
    placeholderData: keepPreviousData,
  });
  const options = new Map(known.map((option) => [option.value, option]));
  for (const row of found.data?.results ?? []) {
    options.set(row.id, { value: row.id, label: row.name });
  }
  return {
    options: [...options.values()].sort((a, b) => a.label.localeCompare(b.label)),
    onSearch: setTyped,
    loading: found.isFetching,
  };
}

export function ReferenceInput({
  system,
  kind,
  known,
  ...field
}: {
  system: string;
  kind: CatalogKind;
  known: readonly Option[];
  label: string;
  hint?: string;
  error?: string;
  required?: boolean;
  disabled?: boolean;
  value: string;
  onChange: (value: string) => void;
}) {
  const picker = useOptions(system, kind, known);
  return <PickField {...field} {...picker} />;
}

export function ReferencesInput({
  system,
  kind,
  known,
  ...field
}: {
  system: string;
  kind: CatalogKind;
  known: readonly Option[];
  label: string;
  hint?: string;
  error?: string;
  required?: boolean;
  disabled?: boolean;
  value: string[];
  onChange: (value: string[]) => void;
}) {
  const { options, onSearch } = useOptions(system, kind, known);
  return <PickManyField {...field} options={options} onSearch={onSearch} />;
}

/** One number per resource of the system. */
export function ResourcesInput({
  field,
  resources,
  value,
  onChange,
  errors,
  disabled,
}: {
  field: Extract<FieldSpec, { kind: "resources" }>;
  resources: readonly string[];
  value: Row;
  onChange: (value: Row) => void;
  errors: readonly FieldProblem[];
  disabled: boolean;
}) {
  const inner = below(errors, field.name);
  const filled = Object.entries(value).filter(([, amount]) => amount.trim() !== "");
  const errorOf = (resource: string) => {
    const index = filled.findIndex(([name]) => name === resource);
    return inner.find((error) => error.field.startsWith(`[${index}]`))?.message;
  };
  return (
    <fieldset className="field wide">
      <legend className="vh">{field.label}</legend>
      <div className="grid2">
        {resources.map((resource, index) => (
          <NumberField
            key={resource}
            label={`${field.label}, ${resource}`}
            unit={field.unit}
            required={disabled ? undefined : field.required}
            disabled={disabled}
            error={errorOf(resource) ?? (index === 0 ? messageFor(errors, field.name) : undefined)}
            value={value[resource] ?? ""}
            onChange={(amount) => onChange({ ...value, [resource]: amount })}
          />
        ))}
      </div>
      {field.hint ? <small>{field.hint}</small> : null}
    </fieldset>
  );
}

function RowCell({
  column,
  value,
  system,
  known,
  resources,
  label,
  error,
  onChange,
}: {
  column: RowColumn;
  value: string;
  system: string;
  known: readonly Option[];
  resources: readonly string[];
  label: string;
  error?: string;
  onChange: (value: string) => void;
}) {
  if (column.kind === "ref") {
    return (
      <ReferenceInput
        system={system}
        kind={column.to}
        known={known}
        label={label}
        error={error}
        value={value}
        onChange={onChange}
      />
    );
  }
  if (column.kind === "number") {
    return (
      <NumberField
        label={label}
        unit={column.unit}
        error={error}
        value={value}
        onChange={onChange}
      />
    );
  }
  return (
    <PickField
      label={label}
      error={error}
      value={value}
      options={resources.map((name) => ({ value: name, label: name }))}
      onChange={onChange}
    />
  );
}

/** A list that is replaced as a whole: paths, costs, edges. */
export function RowsInput({
  field,
  system,
  resources,
  known,
  value,
  onChange,
  errors,
  disabled,
}: {
  field: Extract<FieldSpec, { kind: "rows" }>;
  system: string;
  resources: readonly string[];
  known: readonly Option[];
  value: Row[];
  onChange: (value: Row[]) => void;
  errors: readonly FieldProblem[];
  disabled: boolean;
}) {
  const set = (index: number, name: string, text: string) =>
    onChange(value.map((row, i) => (i === index ? { ...row, [name]: text } : row)));
  const add = () =>
    onChange([
      ...value,
      Object.fromEntries(
        field.columns.map((column) => [
          column.name,
          column.kind === "resource" ? (resources[0] ?? "") : column.kind === "number" ? "1" : "",
        ]),
      ),
    ]);
  const whole = messageFor(errors, field.name);
  const names = field.columns
    .flatMap((column) => (column.kind === "ref" ? [KINDS[column.to].one] : []))
    .join(" and ");
  return (
    <fieldset className="field wide" disabled={disabled}>
      <legend className="lab">
        {field.label}
        {field.required === false && !disabled ? <span className="req">optional</span> : null}
      </legend>
      {value.map((row, index) => (
        <div
          key={index}
          style={{
            display: "grid",
            gap: 8,
            gridTemplateColumns: `repeat(${field.columns.length}, minmax(0, 1fr)) 28px`,
            alignItems: "start",
          }}
        >
          {field.columns.map((column) => (
            <RowCell
              key={column.name}
              column={column}
              label={`${column.label} ${index + 1}`}
              value={row[column.name] ?? ""}
              system={system}
              known={known}
              resources={resources}
              error={messageFor(errors, `${field.name}[${index}].${column.name}`)}
              onChange={(text) => set(index, column.name, text)}
            />
          ))}
          {disabled ? null : (
            <button
              type="button"
              className="iconbtn"
              style={{ marginTop: 21 }}
              aria-label={`Remove ${names} ${index + 1} of ${field.label.toLowerCase()}`}
              title="Remove"
              onClick={() => onChange(value.filter((_, i) => i !== index))}
            >
              <Icon name="x" small />
            </button>
          )}
        </div>
      ))}
      {whole ? (
        <span className="msg">
          <Icon name="alert" small />
          {whole}
        </span>
      ) : null}
      {field.hint ? <small>{field.hint}</small> : null}
      {disabled ? null : (
        <span>
          <button type="button" className="btn sm" onClick={add}>
            <Icon name="plus" small />
            {field.add}
          </button>
        </span>
      )}
    </fieldset>
  );
}
