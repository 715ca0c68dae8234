/** What applying a fit changes, cost by cost, before it is asked for. */
import { costText, termTitle } from "./coefficients";

import type { FitDetail } from "@/api/calibration";
import { ConfirmDialog, Note } from "@/components/ui/dialogs";
import { Scroll } from "@/components/ui/scroll";
import { countText, relativeChange } from "@/lib/numbers";

export function ApplyDialog({
  fit,
  chosen,
  open,
  onClose,
  run,
}: {
  fit: FitDetail;
  chosen: ReadonlySet<string>;
  open: boolean;
  onClose: () => void;
  run: (reason: string) => Promise<void>;
}) {
  const rows = fit.cases.flatMap((one) =>
    one.coefficients.filter((row) => chosen.has(row.id)).map((row) => ({ one, row })),
  );
  const vague = rows.filter(({ row }) => !row.identified).length;
  return (
    <ConfirmDialog
      title={`Apply ${fit.name}`}
      command="Apply"
      dangerous={false}
      askReason
      open={open}
      onClose={onClose}
      run={run}
    >
      <p>
        {countText(rows.length, "cost")} of the model change in one new version of it. The next
        snapshot uses them; what is in force does not change.
      </p>
      {vague > 0 ? (
        <Note tone="warn">
          {countText(vague, "value")} selected {vague === 1 ? "is" : "are"} not fixed by what was
          measured.
        </Note>
      ) : null}
      <Scroll label="What will change" maxHeight={260}>
        <table className="tbl" aria-label="What will change">
          <thead>
            <tr>
              <th scope="col">Cost</th>
              <th scope="col">At</th>
              <th scope="col" className="n">
                Before
              </th>
              <th scope="col" className="n">
                After
              </th>
              <th scope="col" className="n">
                Change
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ one, row }) => (
              <tr key={row.id}>
                <td>{termTitle(row)}</td>
                <td>
                  {one.broker}, {one.resource}
                </td>
                <td className="n">{costText(row.old)}</td>
                <td className="n strong">{costText(row.value)}</td>
                <td className="n">{relativeChange(row.value, row.old)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </ConfirmDialog>
  );
}
