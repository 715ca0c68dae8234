/** The state of a list lives in the address: search, filters, ordering, page. */
import { useEffect, useRef, useState } from "react";
import { useSearchParams } from "react-router";

import { Icon } from "./icons";

import { useKeys } from "@/lib/keyboard";
import { fixed } from "@/lib/numbers";

export type ListAddress = {
  search: string;
  ordering: string;
  cursor: string;
  filters: Record<string, string>;
  set: (change: Partial<{ search: string; ordering: string; cursor: string }>) => void;
  setFilter: (name: string, value: string) => void;
  /** Back to the whole list; what `kept` names stays. */
  clear: (kept?: readonly string[]) => void;
  /** Whether search or a filter leaves rows out, except what `kept` names. */
  isNarrowedBy: (kept?: readonly string[]) => boolean;
};

/** `prefix`: before the names in the address, where a page has more than one list. */
export function useListAddress(
  filterNames: readonly string[] = [],
  ordering = "",
  prefix = "",
): ListAddress {
  const [params, setParams] = useSearchParams();
  const [text, order, cursor] = [`${prefix}q`, `${prefix}order`, `${prefix}cursor`];
  const change = (pairs: Record<string, string | undefined>) =>
    setParams(
      (old) => {
        const next = new URLSearchParams(old);
        for (const [name, value] of Object.entries(pairs)) {
          if (value === undefined) continue;
          if (value === "") next.delete(name);
          else next.set(name, value);
        }
        // Whatever narrows or reorders the list starts again on its first page.
        if (!(cursor in pairs)) next.delete(cursor);
        return next;
      },
      { replace: true },
    );
  const filters = Object.fromEntries(
    filterNames.map((name) => [name, params.get(name) ?? ""] as const),
  );
  const search = params.get(text) ?? "";
  return {
    search,
    ordering: params.get(order) ?? ordering,
    cursor: params.get(cursor) ?? "",
    filters,
    set: (given) => {
      const pairs: Record<string, string | undefined> = {};
      if (given.search !== undefined) pairs[text] = given.search;
      if (given.ordering !== undefined) pairs[order] = given.ordering;
      if (given.cursor !== undefined) pairs[cursor] = given.cursor;
      change(pairs);
    },
    setFilter: (name, value) => change({ [name]: value }),
    clear: (kept = []) =>
      change(
        Object.fromEntries(
          [text, order, cursor, ...filterNames]
            .filter((name) => !kept.includes(name))
            .map((name) => [name, ""]),
        ),
      ),
    isNarrowedBy: (kept = []) =>
      search !== "" ||
      Object.entries(filters).some(([name, value]) => value !== "" && !kept.includes(name)),
  };
}

/** What the server is asked for one page of the list, beside its own filters. */
export const pageAsked = (address: ListAddress) => ({
  search: address.search || undefined,
  ordering: address.ordering || undefined,
  cursor: address.cursor || undefined,
  page_size: 50,
});

/** Text that counts once typing has stopped for a moment: what is shown, and what typing does. */
function useTyped(value: string, onTyped: (text: string) => void) {
  const [typed, setTyped] = useState<string | null>(null);
  const latest = useRef(onTyped);
  useEffect(() => {
    latest.current = onTyped;
  });
  useEffect(() => {
    if (typed === null) return;
    const timer = setTimeout(() => {
      latest.current(typed.trim());
      setTyped(null);
    }, 250);
    return () => clearTimeout(timer);
  }, [typed]);
  return { shown: typed ?? value, type: setTyped };
}

/** The search field of a list; "/" jumps to it, typing waits a moment before it asks the server. */
export function SearchField({
  value,
  onSearch,
  label,
  hasKey = true,
}: {
  value: string;
  onSearch: (text: string) => void;
  label: string;
  /** Of several on a page only one can have it. */
  hasKey?: boolean;
}) {
  const { shown, type } = useTyped(value, onSearch);
  const input = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => input.current?.focus() }, hasKey);
  return (
    <div className="inp grow">
      <Icon name="search" small />
      <input
        ref={input}
        type="search"
        aria-label={label}
        placeholder={label}
        value={shown}
        onChange={(event) => type(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      {hasKey ? <kbd>/</kbd> : null}
    </div>
  );
}

/** A filter that is typed. */
export function FilterText({
  label,
  placeholder = label,
  value,
  onChange,
}: {
  label: string;
  placeholder?: string;
  value: string;
  onChange: (value: string) => void;
}) {
  const { shown, type } = useTyped(value, onChange);
  return (
    <div className="inp">
      <input
        type="text"
        aria-label={label}
        placeholder={placeholder}
        size={Math.max(12, placeholder.length)}
        value={shown}
        onChange={(event) => type(event.target.value)}
      />
    </div>
  );
}

/** Names in the address of whom and when a list is about; the same on every list. */
export const WHO_AND_WHEN = ["person", "since", "until"] as const;

const DAY_MS = 86_400_000;

/** What the server is asked: the days of the address from their first to their last moment, UTC. */
export function whoAndWhen({ person, since, until }: Record<string, string>) {
  const start = Date.parse(`${since ?? ""}T00:00:00Z`);
  const end = Date.parse(`${until ?? ""}T00:00:00Z`);
  return {
    person: person || undefined,
    since: Number.isNaN(start) ? undefined : new Date(start).toISOString(),
    until: Number.isNaN(end) ? undefined : new Date(end + DAY_MS).toISOString(),
  };
}

/** Filters by person and by day; the address keeps them. */
export function WhoAndWhen({ address, who = "Person" }: { address: ListAddress; who?: string }) {
  const { person = "", since = "", until = "" } = address.filters;
  return (
    <>
      <FilterText
        label={who}
        value={person}
        onChange={(text) => address.setFilter("person", text)}
      />
      <label className="inp day">
        From
        <input
          type="date"
          aria-label="From this day, UTC"
          value={since}
          max={until || undefined}
          onChange={(event) => address.setFilter("since", event.target.value)}
        />
      </label>
      <label className="inp day">
        to
        <input
          type="date"
          aria-label="To this day, UTC"
          value={until}
          min={since || undefined}
          onChange={(event) => address.setFilter("until", event.target.value)}
        />
      </label>
    </>
  );
}

/** The cursor inside a page link of the API; empty for the first page. */
export function cursorOf(link: string | null | undefined): string | null {
  if (!link) return null;
  return new URL(link, location.origin).searchParams.get("cursor") ?? "";
}

interface Listed {
  count: number;
  next?: string | null;
  previous?: string | null;
  results: unknown[];
}

/** What stands below a list: how much of it is shown, and the ways on; nothing below an empty one. */
export function pagerOf(page: Listed | undefined, what: string, address: ListAddress) {
  if (page === undefined || page.results.length === 0) return undefined;
  return <Pager page={page} what={what} onCursor={(cursor) => address.set({ cursor })} />;
}

function Pager({
  page,
  what,
  onCursor,
}: {
  page: Listed;
  what: string;
  onCursor: (cursor: string) => void;
}) {
  const previous = cursorOf(page.previous ?? null);
  const next = cursorOf(page.next ?? null);
  return (
    <div className="pager">
      <span>
        {fixed(page.results.length)} of {fixed(page.count)} {what}
      </span>
      <span className="r">
        <button
          type="button"
          className="btn sm"
          disabled={previous === null}
          onClick={() => onCursor(previous ?? "")}
        >
          <Icon name="left" small />
          Previous page
        </button>
        <button
          type="button"
          className="btn sm"
          disabled={next === null}
          onClick={() => onCursor(next ?? "")}
        >
          Next page
          <Icon name="right" small />
        </button>
      </span>
    </div>
  );
}
