/** Cells of the catalog's tables. */
import { Link } from "react-router";

import type { LooseRow } from "./spec";

import type { CatalogKind } from "@/api/catalog";
import type { Column } from "@/components/ui/data-table";
import { opened, to } from "@/lib/kinds";
import { durationText, fixed, rateText, UNKNOWN } from "@/lib/numbers";
import { ageText, exactTime } from "@/lib/time";

type Cells = Column<LooseRow>;

export const textOf = (value: unknown): string =>
  typeof value === "string" && value !== ""
    ? value
    : typeof value === "number"
      ? fixed(value, Number.isInteger(value) ? 0 : 2)
      : UNKNOWN;

const numberOf = (value: unknown): number | null => (typeof value === "number" ? value : null);

/** The name, which opens the object. */
export const nameColumn = (kind: CatalogKind): Cells => ({
  key: "name",
  title: "Name",
  orderBy: "name",
  cell: (row) => (
    <Link className="ent" to={opened(row.system, kind, row.id)}>
      {row.name}
    </Link>
  ),
});

export const words = (
  key: string,
  title: string,
  options: { orderBy?: string; faint?: boolean } = {},
): Cells => ({
  key,
  title,
  orderBy: options.orderBy,
  cell: (row) => <span className={options.faint ? "faint clip" : "clip"}>{textOf(row[key])}</span>,
});

export const choice = (
  key: string,
  title: string,
  labels: Readonly<Record<string, string>>,
  orderBy?: string,
): Cells => ({
  key,
  title,
  orderBy,
  cell: (row) => labels[String(row[key])] ?? textOf(row[key]),
});

export const reference = (
  key: string,
  title: string,
  kind: CatalogKind,
  nameField: string,
  orderBy?: string,
): Cells => ({
  key,
  title,
  orderBy,
  cell: (row) =>
    typeof row[key] === "string" ? (
      <Link to={to.object(row.system, kind, row[key])}>{textOf(row[nameField])}</Link>
    ) : (
      <span className="faint">{UNKNOWN}</span>
    ),
});

export const rate = (key: string, title: string, orderBy?: string): Cells => ({
  key,
  title,
  unit: "msg/s",
  number: true,
  orderBy,
  cell: (row) => rateText(numberOf(row[key])),
});

export const count = (key: string, title: string, orderBy?: string, unit?: string): Cells => ({
  key,
  title,
  unit,
  number: true,
  orderBy,
  cell: (row) => fixed(numberOf(row[key])),
});

export const seconds = (key: string, title: string, orderBy?: string): Cells => ({
  key,
  title,
  number: true,
  orderBy,
  cell: (row) => {
    const shown = durationText(numberOf(row[key]));
    return (
      <>
        {shown.text}
        {shown.unit ? <span className="u">{shown.unit}</span> : null}
      </>
    );
  },
});

export const size = (key: string, title: string): Cells => ({
  key,
  title,
  number: true,
  cell: (row) => fixed(Array.isArray(row[key]) ? row[key].length : 0),
});

/** Amounts by resource: "900,000 cpu". */
export const byResource = (key: string, title: string, value: string): Cells => ({
  key,
  title,
  number: true,
  cell: (row) => {
    const rows = Array.isArray(row[key]) ? (row[key] as Record<string, unknown>[]) : [];
    if (rows.length === 0) return UNKNOWN;
    return rows.map((entry, index) => (
      <span key={String(entry.resource)}>
        {index > 0 ? ", " : ""}
        {textOf(entry[value])}
        <span className="u">{String(entry.resource)}</span>
      </span>
    ));
  },
});

export const changed: Cells = {
  key: "updated_at",
  title: "Changed",
  number: true,
  orderBy: "updated_at",
  cell: (row) => (
    <span className="faint" title={exactTime(row.updated_at)}>
      {ageText(row.updated_at)} ago
    </span>
  ),
};
