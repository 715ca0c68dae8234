/** A panel and the four states that every panel shows on purpose: loading, empty, error, stale. */
import { useId, useState } from "react";

import { Icon } from "./icons";

import { problemOf } from "@/lib/problem";

export function Panel({
  title,
  sub,
  right,
  footer,
  flush = false,
  stale = false,
  children,
  className = "",
}: {
  title: React.ReactNode;
  sub?: React.ReactNode;
  right?: React.ReactNode;
  footer?: React.ReactNode;
  /** The body brings its own padding (tables, maps). */
  flush?: boolean;
  stale?: boolean;
  children: React.ReactNode;
  className?: string;
}) {
  const id = useId();
  return (
    <section className={`panel ${className}${stale ? " isstale" : ""}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {sub ? <span className="sub">{sub}</span> : null}
        {right ? <div className="r">{right}</div> : null}
      </header>
      {flush ? children : <div className="body">{children}</div>}
      {footer ? <footer>{footer}</footer> : null}
    </section>
  );
}

/** Skeleton in the final geometry; it waits 200 ms, so that a quick answer never flickers. */
export function Loading({ rows = 4, label = "Loading" }: { rows?: number; label?: string }) {
  return (
    <div className="skel late" role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, row) => (
        <i key={row} style={{ width: `${92 - ((row * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

/** One sentence what belongs here, one command that makes the first. */
export function Empty({
  children,
  command,
}: {
  children: React.ReactNode;
  command?: React.ReactNode;
}) {
  return (
    <div className="state">
      <p>{children}</p>
      {command ? <div className="row">{command}</div> : null}
    </div>
  );
}

/** What failed, what to do next, and details to hand on. */
export function Failure({
  error,
  what,
  retry,
}: {
  error: unknown;
  what: string;
  retry?: () => void;
}) {
  const [copied, setCopied] = useState(false);
  const problem = problemOf(error);
  const copy = () => {
    void navigator.clipboard
      .writeText(JSON.stringify({ what, ...problem, page: location.pathname }, null, 2))
      .then(() => setCopied(true));
  };
  return (
    <div className="state" role="alert">
      <p>
        <b>{what} could not be loaded.</b> {problem.detail}
      </p>
      <div className="row">
        {retry ? (
          <button type="button" className="btn sm" onClick={retry}>
            <Icon name="refresh" small />
            Try again
          </button>
        ) : null}
        <button type="button" className="btn sm" onClick={copy}>
          <Icon name="copy" small />
          {copied ? "Copied" : "Copy details"}
        </button>
        <span className="tag out mono">{problem.code}</span>
      </div>
    </div>
  );
}

type QueryLike<T> = {
  data: T | undefined;
  error: unknown;
  isPending: boolean;
  refetch: () => unknown;
};

/** Body of a panel that shows one query: its data, or why there is none. */
export function QueryBody<T>({
  query,
  what,
  rows,
  children,
}: {
  query: QueryLike<T>;
  what: string;
  rows?: number;
  children: (data: T) => React.ReactNode;
}) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.error) {
    return <Failure error={query.error} what={what} retry={() => void query.refetch()} />;
  }
  return <Loading rows={rows} label={`Loading ${what.toLowerCase()}`} />;
}
