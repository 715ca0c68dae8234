/** Methods or planners to tick, several of them together. */
import type { TopologyTool } from "@/api/evaluations";
import { CheckField } from "@/components/ui/fields";

/** Tools that may be taken together, each with what it does. */
export function ToolChecks({
  legend,
  tools,
  chosen,
  onChange,
  error,
}: {
  legend: string;
  tools: readonly TopologyTool[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
  error?: string;
}) {
  return (
    <fieldset className="field">
      <legend className="lab">{legend}</legend>
      <div className="toolchecks">
        {tools.map(({ name, title, summary }) => (
          <CheckField
            key={name}
            label={title}
            hint={summary}
            value={chosen.includes(name)}
            onChange={(on) =>
              onChange(on ? [...chosen, name] : chosen.filter((other) => other !== name))
            }
          />
        ))}
      </div>
      {error ? (
        <span className="msg" role="alert">
          {error}
        </span>
      ) : null}
    </fieldset>
  );
}
