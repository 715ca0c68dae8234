/** A table of server rows: sort in the head, J and K to move, Enter to open, one row height. */
import { Fragment, useEffect, useRef, useState } from "react";

import { Icon } from "./icons";
import { Scroll } from "./scroll";

import { useKeys } from "@/lib/keyboard";

export type Column<Row> = {
  key: string;
  title: string;
  /** The title is for who cannot see what the cells are. */
  silent?: boolean;
  unit?: string;
  /** Right-aligned digits. */
  number?: boolean;
  strong?: boolean;
  /** Name of the API's ordering field; without it the column does not sort. */
  orderBy?: string;
  cell: (row: Row) => React.ReactNode;
};

function SortHead({
  title,
  unit,
  field,
  ordering,
  onOrder,
}: {
  title: string;
  unit?: string;
  field: string;
  ordering: string;
  onOrder: (ordering: string) => void;
}) {
  const up = ordering === field;
  const down = ordering === `-${field}`;
  return (
    <button type="button" onClick={() => onOrder(up ? `-${field}` : field)}>
      {title}
      {unit ? <span className="u">{unit}</span> : null}
      {up ? <Icon name="up" small /> : null}
      {down ? <Icon name="down" small /> : null}
    </button>
  );
}

export function DataTable<Row>({
  label,
  columns,
  rows,
  rowKey,
  ordering = "",
  onOrder,
  onOpen,
  selected,
  onSelect,
  foot,
  under,
  keys = false,
  tall = false,
}: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  ordering?: string;
  onOrder?: (ordering: string) => void;
  onOpen?: (row: Row) => void;
  selected?: string | null;
  onSelect?: (row: Row) => void;
  foot?: React.ReactNode;
  /** What stands below a row that is opened; null below one that is not. */
  under?: (row: Row) => React.ReactNode;
  /** This table answers to J, K and Enter; one table a page. */
  keys?: boolean;
  tall?: boolean;
}) {
  const [cursor, setCursor] = useState(-1);
  const body = useRef<HTMLTableSectionElement>(null);
  const act = onSelect ?? onOpen;
  const move = (by: number) => {
    const next = Math.min(rows.length - 1, Math.max(0, cursor + by));
    setCursor(next);
    const row = rows[next];
    if (row && onSelect) onSelect(row);
  };
  useKeys(
    {
      j: () => move(1),
      k: () => move(-1),
      enter: (event) => {
        const row = rows[cursor];
        const busy = event.target instanceof HTMLElement && event.target.closest("a, button");
        if (row && onOpen && !busy) onOpen(row);
      },
    },
    keys,
  );
  useEffect(() => {
    const drawn = body.current?.querySelectorAll(":scope > tr:not(.under)");
    drawn?.[cursor]?.scrollIntoView({ block: "nearest" });
  }, [cursor]);
  return (
    <Scroll label={label}>
      <table className={`tbl${tall ? " tall" : ""}`} aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => {
              const sorts = column.orderBy !== undefined && onOrder !== undefined;
              const up = sorts && ordering === column.orderBy;
              const down = sorts && ordering === `-${column.orderBy}`;
              return (
                <th
                  key={column.key}
                  className={column.number ? "n" : undefined}
                  aria-sort={up ? "ascending" : down ? "descending" : undefined}
                  scope="col"
                >
                  {sorts && column.orderBy ? (
                    <SortHead
                      title={column.title}
                      unit={column.unit}
                      field={column.orderBy}
                      ordering={ordering}
                      onOrder={onOrder}
                    />
                  ) : (
                    <>
                      {column.title === "" || column.silent ? (
                        <span className="vh">{column.title || "Drawing"}</span>
                      ) : (
                        column.title
                      )}
                      {column.unit ? <span className="u">{column.unit}</span> : null}
                    </>
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row, index) => {
            const below = under?.(row) ?? null;
            return (
              <Fragment key={rowKey(row)}>
                <tr
                  className={[act ? "pick" : "", index === cursor && !onSelect ? "cur" : ""]
                    .filter(Boolean)
                    .join(" ")}
                  aria-selected={selected === undefined ? undefined : selected === rowKey(row)}
                  onClick={
                    act
                      ? (event) => {
                          if ((event.target as HTMLElement).closest("a, button, input, label"))
                            return;
                          if (window.getSelection()?.toString()) return;
                          setCursor(index);
                          act(row);
                        }
                      : undefined
                  }
                >
                  {columns.map((column) => (
                    <td
                      key={column.key}
                      className={
                        [column.number ? "n" : "", column.strong ? "strong" : ""]
                          .filter(Boolean)
                          .join(" ") || undefined
                      }
                    >
                      {column.cell(row)}
                    </td>
                  ))}
                </tr>
                {below === null ? null : (
                  <tr className="under">
                    <td colSpan={columns.length}>{below}</td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
        {foot ? <tfoot>{foot}</tfoot> : null}
      </table>
    </Scroll>
  );
}
