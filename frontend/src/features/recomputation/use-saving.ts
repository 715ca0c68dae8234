/** Saving a form: what the browser or the server says is wrong, and whether it is under way. */
import { useState } from "react";

import { problemOf, type FieldProblem } from "@/lib/problem";

type Made<Body> = { body: Body } | { errors: FieldProblem[] };

export function useSaving() {
  const [errors, setErrors] = useState<FieldProblem[]>([]);
  const [busy, setBusy] = useState(false);
  const save = async <Body>(made: Made<Body>, send: (body: Body) => Promise<void>) => {
    if ("errors" in made) {
      setErrors(made.errors);
      return;
    }
    setBusy(true);
    setErrors([]);
    try {
      await send(made.body);
    } catch (error) {
      const problem = problemOf(error);
      setErrors(
        problem.errors.length > 0 ? problem.errors : [{ field: "", message: problem.detail }],
      );
    } finally {
      setBusy(false);
    }
  };
  return { errors, busy, save };
}
