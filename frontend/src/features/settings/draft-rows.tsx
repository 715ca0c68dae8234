/** Rows of a policy as they are typed: one group of fields each, added and removed while one may. */
import { Icon } from "@/components/ui/icons";
import { Empty, Panel } from "@/components/ui/panel";
import { messageFor, type FieldProblem } from "@/lib/problem";
import { capital } from "@/lib/words";

/** What the fields of one row need. */
export type RowFields<Row> = {
  row: Row;
  change: (part: Partial<Row>) => void;
  /** What is wrong with a field; without a name, with the row. */
  wrong: (field?: string) => string | undefined;
};

export function DraftRows<Row>({
  title,
  sub,
  noun,
  field,
  rows,
  onRows,
  fresh,
  least = 0,
  empty,
  errors,
  may,
  children,
}: {
  title: string;
  sub: string;
  /** One of them, such as "rule". */
  noun: string;
  /** The list's name in the API. */
  field: string;
  rows: readonly Row[];
  onRows: (rows: Row[]) => void;
  /** What an added row begins with. */
  fresh: Row;
  /** So many stay. */
  least?: number;
  empty?: string;
  errors: readonly FieldProblem[];
  may: boolean;
  children: (fields: RowFields<Row>) => React.ReactNode;
}) {
  return (
    <Panel
      title={title}
      sub={sub}
      right={
        may ? (
          <button type="button" className="btn sm" onClick={() => onRows([...rows, fresh])}>
            <Icon name="plus" small />
            Add {noun}
          </button>
        ) : null
      }
    >
      {rows.length === 0 && empty ? (
        <Empty>{empty}</Empty>
      ) : (
        <div className="stack">
          {rows.map((row, index) => {
            const name = `${noun} ${index + 1}`;
            const at = `${field}[${index}]`;
            return (
              <fieldset key={index} className="rulerow" aria-label={capital(name)}>
                {children({
                  row,
                  change: (part) =>
                    onRows(rows.map((old, i) => (i === index ? { ...old, ...part } : old))),
                  wrong: (part) => messageFor(errors, part === undefined ? at : `${at}.${part}`),
                })}
                {may && rows.length > least ? (
                  <button
                    type="button"
                    className="iconbtn"
                    aria-label={`Remove ${name}`}
                    onClick={() => onRows(rows.filter((_, i) => i !== index))}
                  >
                    <Icon name="trash" small />
                  </button>
                ) : null}
              </fieldset>
            );
          })}
        </div>
      )}
    </Panel>
  );
}
