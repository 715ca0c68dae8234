/** Kind and parameters of a utility function; the form is drawn from the kind's description. */
import { useQuery } from "@tanstack/react-query";

import type { UtilityDraft } from "./spec";
import { utilityKindsQuery, type UtilityKind } from "./utility-kinds";

import { ParameterFields } from "@/components/ui/parameter-fields";
import { QueryBody } from "@/components/ui/panel";
import { labelOf, parameterDraft } from "@/lib/parameters";
import { messageFor, type FieldProblem } from "@/lib/problem";

/** A small picture of the shape; a kind that came later gets the plain rising curve. */
const SHAPES: Record<string, string> = {
  log: "M2 26C6 10 16 6 46 4",
  power: "M2 26C10 14 24 8 46 4",
  linear: "M2 26L46 4",
  piecewise: "M2 26L10 14L22 8L46 5",
  latency: "M2 26H8C12 8 18 5 46 4",
};

export function KindPicker({
  kinds,
  value,
  onChange,
  disabled,
  detailed = false,
}: {
  kinds: readonly UtilityKind[];
  value: string;
  onChange: (kind: UtilityKind) => void;
  disabled: boolean;
  /** With the formula of each, where there is room for it. */
  detailed?: boolean;
}) {
  return (
    <div className={detailed ? "kinds detailed" : "kinds"} role="group" aria-label="Kind">
      {kinds.map((kind) => (
        <button
          key={kind.kind}
          type="button"
          className="kind"
          aria-pressed={kind.kind === value}
          disabled={disabled}
          title={kind.summary}
          onClick={() => onChange(kind)}
        >
          <svg width="48" height="30" viewBox="0 0 48 30" aria-hidden="true">
            <path
              d={SHAPES[kind.kind] ?? "M2 26C10 12 24 8 46 5"}
              fill="none"
              stroke="currentColor"
              strokeWidth="1.75"
              strokeLinejoin="round"
            />
          </svg>
          {detailed ? (
            <span>
              <b>{labelOf(kind.kind)}</b>
              <small>{kind.summary.replace(/\.$/, "")}</small>
            </span>
          ) : (
            <b>{labelOf(kind.kind)}</b>
          )}
        </button>
      ))}
    </div>
  );
}

export function UtilityInput({
  value,
  stored,
  onChange,
  errors,
  disabled,
}: {
  value: UtilityDraft;
  /** Parameters of the object as it is stored, for its own kind. */
  stored: Readonly<Record<string, unknown>>;
  onChange: (value: UtilityDraft) => void;
  errors: readonly FieldProblem[];
  disabled: boolean;
}) {
  const kinds = useQuery(utilityKindsQuery);
  return (
    <QueryBody query={kinds} what="Utility kinds" rows={2}>
      {({ results }) => {
        const chosen = results.find((kind) => kind.kind === value.kind);
        const whole = messageFor(errors, "parameters") ?? messageFor(errors, "kind");
        return (
          <div className="form wide">
            <KindPicker
              kinds={results}
              value={value.kind}
              disabled={disabled}
              onChange={(kind) =>
                onChange({
                  kind: kind.kind,
                  parameters: parameterDraft(
                    kind.parameters,
                    kind.kind === value.kind ? stored : {},
                  ),
                })
              }
            />
            {chosen ? (
              <>
                <p className="muted">{chosen.summary}</p>
                <ParameterFields
                  parameters={chosen.parameters}
                  draft={value.parameters}
                  onChange={(parameters) => onChange({ kind: value.kind, parameters })}
                  errors={errors}
                  disabled={disabled}
                />
              </>
            ) : null}
            {whole ? (
              <p className="field">
                <span className="msg">{whole}</span>
              </p>
            ) : null}
          </div>
        );
      }}
    </QueryBody>
  );
}
