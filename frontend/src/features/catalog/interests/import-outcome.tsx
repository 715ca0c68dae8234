/** How far an import is, what it changed, and what is wrong with which line. */
import { useState } from "react";

import {
  differs,
  doneText,
  endText,
  goesOn,
  phaseText,
  shareOf,
  type InterestImport,
} from "./interest-imports";

import { Note } from "@/components/ui/dialogs";
import { FigureStrip } from "@/components/ui/figure-strip";
import { Icon } from "@/components/ui/icons";
import { Scroll } from "@/components/ui/scroll";
import { download, toCsv } from "@/lib/csv";
import { countText, fixed } from "@/lib/numbers";

const HEIGHT = 320;

/** A bar with what it counts in words; a share of null stands empty: nobody knows. */
export function Progress({
  label,
  share,
  what,
  counted,
}: {
  label: string;
  share: number | null;
  what: string;
  counted: string;
}) {
  return (
    <div className="importprogress">
      <p>
        <span>{what}</span>
        <span className="muted">{counted}</span>
      </p>
      <div
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={share === null ? undefined : Math.floor(share * 100)}
        aria-valuetext={[what, counted].filter(Boolean).join(": ")}
      >
        {/* The next step begins at nothing; the bar does not run back. */}
        <i key={what} style={{ width: `${(share ?? 0) * 100}%` }} />
      </div>
    </div>
  );
}

export const ImportProgress = ({ row }: { row: InterestImport }) => (
  <Progress
    label={`Progress of ${row.name}`}
    share={shareOf(row)}
    what={phaseText(row)}
    counted={doneText(row)}
  />
);

const TONES = { succeeded: "good", refused: "bad", failed: "bad" } as const;

export function ImportOutcome({ row }: { row: InterestImport }) {
  if (goesOn(row)) return <ImportProgress row={row} />;
  const tone = row.state in TONES ? TONES[row.state as keyof typeof TONES] : "";
  const isPlain = row.state === "succeeded" && !differs(row);
  return (
    <>
      <Note tone={isPlain ? "" : tone}>{endText(row)}</Note>
      {row.state === "succeeded" ? <Counts row={row} /> : null}
      {row.errors.length > 0 ? <WrongLines row={row} /> : null}
    </>
  );
}

function Counts({ row }: { row: InterestImport }) {
  const would = row.dry_run;
  return (
    <FigureStrip
      figures={[
        { label: would ? "Would be added" : "Added", value: fixed(row.added), note: "interests" },
        {
          label: would ? "Would be removed" : "Removed",
          value: fixed(row.removed),
          note: "interests",
        },
        {
          label: would ? "Would stay" : "Unchanged",
          value: fixed(row.unchanged),
          note: "as listed",
          title: "Interests that are as listed already",
        },
        {
          label: "Repeated",
          value: fixed(row.repeated),
          note: `of ${countText(row.lines, "line")}`,
          title: "Lines that list what a line before them lists; they count once",
        },
        {
          label: "Subscribers",
          value: fixed(row.subscribers_changed),
          note: `and ${fixed(row.subscribers_created)} new`,
          title: would
            ? "Subscribers whose interests would change, and new ones"
            : "Subscribers whose interests have changed, and new ones",
        },
      ]}
    />
  );
}

/** The errors as a table that can be taken along to where the file is mended. */
function WrongLines({ row }: { row: InterestImport }) {
  const [copied, setCopied] = useState(false);
  const csv = () =>
    toCsv(
      ["line", "field", "message"],
      row.errors.map(({ line, field, message }) => [line, field, message]),
    );
  const hidden = row.error_count > row.errors.length;
  return (
    <>
      <div className="wronghead">
        <span className="muted">
          {hidden
            ? `First ${fixed(row.errors.length)} of ${countText(row.error_count, "error")}`
            : countText(row.error_count, "error")}
        </span>
        <span className="r">
          <button
            type="button"
            className="btn sm"
            onClick={() => {
              void navigator.clipboard.writeText(csv()).then(() => setCopied(true));
            }}
          >
            <Icon name="copy" small />
            {copied ? "Copied" : "Copy errors"}
          </button>
          <button
            type="button"
            className="btn sm"
            onClick={() => download(`${row.name}-errors.csv`, csv())}
          >
            <Icon name="download" small />
            Download errors
          </button>
        </span>
      </div>
      <Scroll label="Errors by line" maxHeight={HEIGHT}>
        <table className="diff wronglines" aria-label="Errors by line">
          <thead>
            <tr>
              <th scope="col">Line</th>
              <th scope="col">Field</th>
              <th scope="col">What is wrong</th>
            </tr>
          </thead>
          <tbody>
            {row.errors.map(({ line, field, message }, index) => (
              <tr key={index}>
                <td className="num">{fixed(line)}</td>
                <td>{field || "line"}</td>
                <td>{message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}
