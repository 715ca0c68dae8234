/** Long tables a page at a time: thousands of rows in the document make every click slow. */
import { useState } from "react";

import { Icon } from "./icons";

import { fixed } from "@/lib/numbers";

export const PAGE_ROWS = 100;

export type Paged<Row> = {
  visible: readonly Row[];
  /** Rows before the first visible one. */
  from: number;
  count: number;
  /** Null while all fit. */
  go: ((from: number) => void) | null;
  open: (() => void) | null;
  close: (() => void) | null;
};

/** The first few, then pages of PAGE_ROWS. `mark` names the rows: another one begins at the first. */
export function usePaged<Row>(rows: readonly Row[], first: number, mark: string): Paged<Row> {
  const [state, setState] = useState({ mark, from: 0, opened: false });
  const { from, opened } = state.mark === mark ? state : { from: 0, opened: state.opened };
  const fits = rows.length <= first * 1.2;
  if (fits || !opened) {
    const shown = fits ? rows : rows.slice(0, first);
    const open = fits ? null : () => setState({ mark, from: 0, opened: true });
    return { visible: shown, from: 0, count: rows.length, go: null, open, close: null };
  }
  const start = from < rows.length ? from : 0;
  return {
    visible: rows.slice(start, start + PAGE_ROWS),
    from: start,
    count: rows.length,
    go:
      rows.length > PAGE_ROWS
        ? (next) => setState({ mark, from: Math.max(0, next), opened: true })
        : null,
    open: null,
    close: () => setState({ mark, from: 0, opened: false }),
  };
}

/** What stands below such a table; nothing where all rows are shown anyway. */
export function PageFoot<Row>({ paged, what }: { paged: Paged<Row>; what: string }) {
  const { visible, from, count, go, open, close } = paged;
  if (open) {
    return (
      <>
        {fixed(visible.length)} of {fixed(count)} {what}.{" "}
        <button type="button" className="link" onClick={open}>
          Show{" "}
          {count > PAGE_ROWS ? "the rest, " + fixed(PAGE_ROWS) + " a page" : `all ${fixed(count)}`}
        </button>
      </>
    );
  }
  if (!close) return null;
  return (
    <div className="pager">
      <span>
        {fixed(from + 1)} to {fixed(from + visible.length)} of {fixed(count)} {what}.{" "}
        <button type="button" className="link" onClick={close}>
          Show fewer
        </button>
      </span>
      {go ? (
        <span className="r">
          <button
            type="button"
            className="btn sm"
            disabled={from === 0}
            onClick={() => go(from - PAGE_ROWS)}
          >
            <Icon name="left" small />
            Previous
          </button>
          <button
            type="button"
            className="btn sm"
            disabled={from + PAGE_ROWS >= count}
            onClick={() => go(from + PAGE_ROWS)}
          >
            Next
            <Icon name="right" small />
          </button>
        </span>
      ) : null}
    </div>
  );
}

/** A field that narrows the rows already here. */
export function FindField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (text: string) => void;
}) {
  return (
    <span className="inp" style={{ height: 26, width: 150 }}>
      <Icon name="search" small />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </span>
  );
}
