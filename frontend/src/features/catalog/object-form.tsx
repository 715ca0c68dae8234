/** The form of one object: fields of its descriptor, messages at their fields, a reason for history. */
import { useState } from "react";

import { ReferenceInput, ReferencesInput, ResourcesInput, RowsInput } from "./inputs";
import { type Draft, type DraftValue, type FieldSpec, type Row, type UtilityDraft } from "./spec";
import { UtilityInput } from "./utility-input";

import { Note } from "@/components/ui/dialogs";
import {
  CheckField,
  ChoiceField,
  NumberField,
  TextArea,
  TextField,
  WordsField,
  type Option,
} from "@/components/ui/fields";
import { messageFor, unclaimed, type FieldProblem } from "@/lib/problem";

type Context = {
  system: string;
  resources: readonly string[];
  known: readonly Option[];
  stored: Readonly<Record<string, unknown>>;
  errors: readonly FieldProblem[];
  disabled: boolean;
};

function OneField({
  field,
  value,
  onChange,
  context,
}: {
  field: FieldSpec;
  value: DraftValue;
  onChange: (value: DraftValue) => void;
  context: Context;
}) {
  const { system, resources, known, errors, disabled } = context;
  const common = {
    label: field.label,
    hint: field.hint,
    required: disabled ? undefined : field.required,
    error: messageFor(errors, field.name),
    disabled,
  };
  switch (field.kind) {
    case "text":
      return <TextField {...common} value={value as string} onChange={onChange} maxLength={200} />;
    case "area":
      return <TextArea {...common} value={value as string} onChange={onChange} />;
    case "number":
      return (
        <NumberField {...common} unit={field.unit} value={value as string} onChange={onChange} />
      );
    case "choice":
      return (
        <ChoiceField
          {...common}
          options={field.options}
          value={value as string}
          onChange={onChange}
        />
      );
    case "check":
      return <CheckField {...common} value={value as boolean} onChange={onChange} />;
    case "ref":
      return (
        <ReferenceInput
          {...common}
          system={system}
          kind={field.to}
          known={known}
          value={value as string}
          onChange={onChange}
        />
      );
    case "refs":
      return (
        <ReferencesInput
          {...common}
          system={system}
          kind={field.to}
          known={known}
          value={value as string[]}
          onChange={onChange}
        />
      );
    case "resources":
      return (
        <ResourcesInput
          field={field}
          resources={resources}
          value={value as Row}
          onChange={onChange}
          errors={errors}
          disabled={disabled}
        />
      );
    case "rows":
      return (
        <RowsInput
          field={field}
          system={system}
          resources={resources}
          known={known}
          value={value as Row[]}
          onChange={onChange}
          errors={errors}
          disabled={disabled}
        />
      );
    case "labels":
      return <WordsField {...common} value={value as string[]} onChange={onChange} holdCommas />;
    case "utility":
      return (
        <UtilityInput
          value={value as UtilityDraft}
          stored={context.stored}
          onChange={onChange}
          errors={errors}
          disabled={disabled}
        />
      );
  }
}

export function ObjectForm({
  id,
  fields,
  draft,
  onDraft,
  reason,
  onReason,
  onSubmit,
  context,
}: {
  id: string;
  fields: readonly FieldSpec[];
  draft: Draft;
  onDraft: (draft: Draft) => void;
  reason: string;
  onReason: (reason: string) => void;
  onSubmit: () => void;
  context: Context;
}) {
  const [shownReason, setShownReason] = useState(reason !== "");
  const drawn = [...fields.map((field) => field.name), "parameters", "kind", "reason"];
  const others = unclaimed(context.errors, drawn);
  return (
    <form
      id={id}
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      <div className="grid2">
        {fields.map((field) => (
          <div key={field.name} className={field.wide ? "wide" : undefined}>
            <OneField
              field={field}
              value={draft[field.name] ?? ""}
              onChange={(value) => onDraft({ ...draft, [field.name]: value })}
              context={context}
            />
          </div>
        ))}
      </div>
      {context.disabled ? null : shownReason ? (
        <TextField
          label="Reason"
          hint="Why; kept in the history."
          required={false}
          value={reason}
          onChange={onReason}
          error={messageFor(context.errors, "reason")}
          maxLength={500}
        />
      ) : (
        <span>
          <button type="button" className="link" onClick={() => setShownReason(true)}>
            Add a reason for the history
          </button>
        </span>
      )}
    </form>
  );
}
