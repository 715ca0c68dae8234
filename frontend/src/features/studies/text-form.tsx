/** A study as JSON: everything that the API takes, also what the form has no words for. */
import type { FieldError } from "./spec";

import { TextArea } from "@/components/ui/fields";
import { Icon } from "@/components/ui/icons";

export function TextForm({
  text,
  errors,
  onChange,
}: {
  text: string;
  errors: readonly FieldError[];
  onChange: (text: string) => void;
}) {
  const own = errors.find((error) => error.field === "text");
  const said = errors.filter((error) => error.field.startsWith("spec"));
  return (
    <div className="form studytext">
      <TextArea
        label="Study as JSON"
        hint="Scenarios with several edits, edits that all share, methods with parameters, lists of values: the same words as the REST API and manage.py study."
        value={text}
        error={own?.message}
        onChange={onChange}
      />
      {said.map((error) => (
        <span className="msg" role="alert" key={error.field}>
          <Icon name="alert" small />
          <span>
            <code>{error.field.replace(/^spec\.?/, "") || "study"}</code>: {error.message}
          </span>
        </span>
      ))}
    </div>
  );
}
