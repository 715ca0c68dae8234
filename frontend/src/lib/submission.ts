/** A form that is being sent: busy until the answer, then what is wrong with which field. */
import { useState } from "react";

import { complaintsOf, unclaimed, type FieldProblem } from "@/lib/problem";

/**
 * `drawn`: the fields that show their own message; `others` holds the rest, for the form's head.
 * `send` does the work and keeps what the server refuses; a failure that `handled` takes care of
 * is not shown.
 */
export function useSubmission(drawn: readonly string[] = []) {
  const [errors, setErrors] = useState<FieldProblem[]>([]);
  const [busy, setBusy] = useState(false);
  const send = async (
    work: () => Promise<unknown>,
    handled: (error: unknown) => boolean | Promise<boolean> = () => false,
  ) => {
    setErrors([]);
    setBusy(true);
    try {
      await work();
    } catch (error) {
      if (!(await handled(error))) setErrors(complaintsOf(error));
    } finally {
      setBusy(false);
    }
  };
  return { errors, setErrors, busy, send, others: unclaimed(errors, drawn) };
}
