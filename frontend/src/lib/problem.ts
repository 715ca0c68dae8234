/** Errors of the API are RFC 9457 problem documents; everything else becomes one. */

/** `line`: where it stands in a table that was sent. */
export type FieldProblem = { field: string; message: string; line?: number };

export type Problem = {
  status: number;
  code: string;
  title: string;
  detail: string;
  errors: FieldProblem[];
  /** How many there are beside those. */
  moreErrors?: number;
};

export class ProblemError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.name = "ProblemError";
    this.problem = problem;
  }
}

const text = (value: unknown, otherwise: string) =>
  typeof value === "string" && value !== "" ? value : otherwise;

function fieldProblems(value: unknown): FieldProblem[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown) => {
    if (typeof entry !== "object" || entry === null) return [];
    const { field, message, line } = entry as Record<string, unknown>;
    if (typeof message !== "string") return [];
    const place = typeof line === "number" ? { line } : {};
    return [{ field: typeof field === "string" ? field : "", message, ...place }];
  });
}

/** Read the answer of the server; a page that is no problem document still says what happened. */
export function problemFrom(status: number, body: unknown): Problem {
  const given = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const title = text(given.title, status >= 500 ? "The server failed" : "The request failed");
  return {
    status,
    code: text(given.code, `http_${status}`),
    title,
    detail: text(
      given.detail,
      status >= 500
        ? `The server answered ${status}. Try again; if it stays, hand the details to an administrator.`
        : `The server answered ${status}.`,
    ),
    errors: fieldProblems(given.errors),
    ...(typeof given.more_errors === "number" ? { moreErrors: given.more_errors } : {}),
  };
}

export function problemOf(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  if (error instanceof TypeError) {
    return {
      status: 0,
      code: "unreachable",
      title: "No connection",
      detail: "The server cannot be reached. Check the connection and try again.",
      errors: [],
    };
  }
  return {
    status: 0,
    code: "unexpected",
    title: "Something unexpected happened",
    detail: error instanceof Error ? error.message : String(error),
    errors: [],
  };
}

/** What is wrong by field; what concerns none of them has the field "". */
export function complaintsOf(error: unknown): FieldProblem[] {
  const problem = problemOf(error);
  return problem.errors.length > 0 ? problem.errors : [{ field: "", message: problem.detail }];
}

/** The message for one field; "capacities[0].capacity" also answers to its beginning "capacities". */
export function messageFor(errors: readonly FieldProblem[], field: string): string | undefined {
  const exact = errors.find((entry) => entry.field === field);
  return exact?.message;
}

/** Messages that no drawn field shows; they belong at the head of the form. */
export function unclaimed(
  errors: readonly FieldProblem[],
  drawn: readonly string[],
): FieldProblem[] {
  return errors.filter(
    ({ field }) =>
      !drawn.some(
        (name) => field === name || field.startsWith(`${name}[`) || field.startsWith(`${name}.`),
      ),
  );
}

/** The part of the messages below one field: "capacities[0].capacity" -> "[0].capacity". */
export function below(errors: readonly FieldProblem[], field: string): FieldProblem[] {
  return errors
    .filter((entry) => entry.field === field || /^[.[]/.test(entry.field.slice(field.length)))
    .filter((entry) => entry.field.startsWith(field))
    .map((entry) => ({ field: entry.field.slice(field.length), message: entry.message }));
}
