/** Another study of the system beside this one, scenario by scenario. */
import { useQuery } from "@tanstack/react-query";

import { studiesQuery, type StudyDetail, type StudyPoint } from "@/api/studies";
import { ChoiceField } from "@/components/ui/fields";
import { Panel } from "@/components/ui/panel";
import { DataTable, type Column } from "@/components/ui/data-table";
import { countText, fixed, relativeChange, UNKNOWN } from "@/lib/numbers";

export type Held = { id: string; name: string; points: readonly StudyPoint[] };

type Pair = { here: StudyPoint; there: StudyPoint };

/** Scenarios that both have, by name and method. */
export function pairsOf(here: readonly StudyPoint[], there: readonly StudyPoint[]): Pair[] {
  const key = (point: StudyPoint) => JSON.stringify([point.label, point.method, point.coordinates]);
  const found = new Map(there.map((point) => [key(point), point]));
  return here.flatMap((point) => {
    const other = found.get(key(point));
    return other ? [{ here: point, there: other }] : [];
  });
}

/** Choose what to hold this study against: studies of the same kind that have answers. */
export function HoldAgainst({
  study,
  value,
  onChange,
}: {
  study: StudyDetail;
  value: string;
  onChange: (id: string) => void;
}) {
  const list = useQuery(studiesQuery({ system: study.system, kind: study.kind, page_size: 100 }));
  const others = (list.data?.results ?? []).filter(
    (other) => other.id !== study.id && other.points_done > 0,
  );
  if (others.length === 0) return null;
  return (
    <ChoiceField
      label="Compare with"
      required={false}
      options={others.map((other) => ({
        value: other.id,
        label: `W-${other.number} ${other.name}`,
      }))}
      value={value}
      onChange={onChange}
    />
  );
}

export function ComparePanel({
  name,
  points,
  held,
}: {
  name: string;
  points: readonly StudyPoint[];
  held: Held;
}) {
  const pairs = pairsOf(points, held.points);
  const columns: Column<Pair>[] = [
    {
      key: "label",
      title: "Scenario",
      cell: (row) => <span className="ent">{row.here.label}</span>,
    },
    { key: "method", title: "Method", cell: (row) => row.here.method },
    {
      key: "here",
      title: `Utility in ${name}`,
      number: true,
      strong: true,
      cell: (row) => fixed(row.here.utility, 1),
    },
    {
      key: "there",
      title: `in ${held.name}`,
      number: true,
      cell: (row) => fixed(row.there.utility, 1),
    },
    {
      key: "change",
      title: "Difference",
      number: true,
      cell: (row) => relativeChange(row.here.utility, row.there.utility),
    },
    {
      key: "admitted",
      title: "Admitted here, there",
      number: true,
      cell: (row) =>
        `${row.here.admitted === null ? UNKNOWN : fixed(row.here.admitted)}, ${row.there.admitted === null ? UNKNOWN : fixed(row.there.admitted)}`,
    },
  ];
  return (
    <Panel
      title={`Against ${held.name}`}
      sub={`${countText(pairs.length, "scenario")} that both have`}
      flush={pairs.length > 0}
    >
      {pairs.length === 0 ? (
        <p className="muted">
          No scenario has the same name and method in both. Duplicate one of them to ask the same of
          another model or with other methods.
        </p>
      ) : (
        <DataTable
          label={`Against ${held.name}`}
          columns={columns}
          rows={pairs}
          rowKey={(row) => String(row.here.index)}
        />
      )}
    </Panel>
  );
}
