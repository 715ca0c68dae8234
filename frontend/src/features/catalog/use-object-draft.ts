/** The state of a form: draft, messages, and what would be sent. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import {
  toBody,
  toDraft,
  type Descriptor,
  type Draft,
  type LooseRow,
  type UtilityDraft,
} from "./spec";
import { utilityKindsQuery } from "./utility-kinds";

import { parameterDraft, readNumber, readParameters, type Parameter } from "@/lib/parameters";
import type { FieldProblem } from "@/lib/problem";

const EMPTY_PARAMETERS: Parameter[] = [];

/** The draft of an object, with the parameters of its utility filled in once their kind is known. */
export function useObjectDraft(descriptor: Descriptor, object: LooseRow | null, prefill: Draft) {
  const hasUtility = descriptor.fields.some((field) => field.kind === "utility");
  const kinds = useQuery({ ...utilityKindsQuery, enabled: hasUtility });
  const [edited, setEdited] = useState<Draft>({});
  const [errors, setErrors] = useState<FieldProblem[]>([]);

  const stored = (object?.parameters ?? {}) as Record<string, unknown>;
  const describedOf = (kind: string) =>
    kinds.data?.results.find((entry) => entry.kind === kind)?.parameters ?? EMPTY_PARAMETERS;

  const former = toDraft(descriptor.fields, object);
  if (hasUtility) {
    const kind = typeof object?.kind === "string" ? object.kind : "";
    former.utility = { kind, parameters: parameterDraft(describedOf(kind), stored) };
  }
  const draft: Draft = { ...former, ...prefill, ...edited };

  const utility = hasUtility ? (draft.utility as UtilityDraft) : null;
  const described = describedOf(utility?.kind ?? "");

  const read = () => {
    const { body, errors: found } = toBody(descriptor.fields, draft);
    if (utility) {
      if (utility.kind === "") found.push({ field: "kind", message: "Choose a kind." });
      const parameters = readParameters(described, utility.parameters);
      found.push(...parameters.errors);
      body.kind = utility.kind;
      body.parameters = parameters.values;
    }
    return { body, errors: found };
  };

  /** The fields that differ from the object, alone. */
  const mine = Object.fromEntries(
    Object.entries(draft).filter(
      ([name, value]) => JSON.stringify(former[name]) !== JSON.stringify(value),
    ),
  );
  const isDirty = Object.keys(mine).length > 0;
  const curveParameters = utility ? readParameters(described, utility.parameters) : null;
  const points = utility
    ? Object.values(utility.parameters).flatMap((value) => (Array.isArray(value) ? value : []))
    : [];

  return {
    draft,
    former,
    setDraft: setEdited,
    errors,
    setErrors,
    read,
    mine,
    isDirty,
    reset: () => {
      setEdited({});
      setErrors([]);
    },
    stored,
    curve:
      utility && utility.kind !== "" && curveParameters
        ? {
            kind: utility.kind,
            parameters: curveParameters.errors.length > 0 ? null : curveParameters.values,
            knots: points
              .map((point) => readNumber(point.rate))
              .filter((rate): rate is number => rate !== null && Number.isFinite(rate)),
          }
        : null,
  };
}
