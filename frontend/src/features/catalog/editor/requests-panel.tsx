/** A latency target's requesters beside what clients counted: how many, their pause, their answers. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { textOf, type Editor } from "./use-editor";

import { requestLoopsQuery, type LoopInterval, type RequestLoop } from "@/api/demand";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { Select } from "@/components/ui/select";
import { countText, fixed, secondsText, significant } from "@/lib/numbers";
import { labelOf, readNumber } from "@/lib/parameters";

const DIGITS = 3;

type Figure = { name: "senders" | "think_s" | "exec_s"; hint: string };

const FIGURES: readonly Figure[] = [
  { name: "senders", hint: "Those that ask in turn." },
  { name: "think_s", hint: "Between an answer and the next request." },
  { name: "exec_s", hint: "Until an answer, without the wait at the gate." },
];

/** A median as one would type it. */
const typedOf = (name: Figure["name"], interval: LoopInterval) =>
  String(
    name === "senders"
      ? Math.max(1, Math.round(interval.median))
      : Number(interval.median.toPrecision(DIGITS)),
  );

const shown = (name: Figure["name"], value: number) => {
  if (name === "senders")
    return Number.isInteger(value) ? fixed(value) : significant(value, DIGITS);
  return secondsText(value);
};

/** What the measured figures make of the parameters; null where they are these already. */
export function filled(
  row: RequestLoop,
  parameters: Readonly<Record<string, unknown>>,
): Record<string, unknown> | null {
  const next = { ...parameters };
  for (const { name } of FIGURES) {
    const interval = row[name];
    if (interval) next[name] = typedOf(name, interval);
  }
  return FIGURES.some(({ name }) => next[name] !== parameters[name]) ? next : null;
}

export function RequestsPanel({
  system,
  utility,
  editor,
  mayEdit,
}: {
  system: string;
  utility: string;
  editor: Editor;
  mayEdit: boolean;
}) {
  const query = useQuery(requestLoopsQuery(system, utility));
  const [picked, setPicked] = useState<string | null>(null);
  const rows = query.data?.rows ?? [];
  // Whoever tells most is shown first.
  const row =
    rows.find((one) => one.consumer_class === picked) ??
    [...rows].sort((a, b) => b.minutes - a.minutes)[0];
  return (
    <Panel
      title="Requests as measured"
      sub={row && rows.length === 1 ? `${row.consumer_class_name}, last 24 h` : "last 24 h"}
      className="wraphead"
      right={
        row && rows.length > 1 ? (
          <Select
            className="headpick"
            label="Class"
            value={row.consumer_class}
            options={rows.map((one) => ({
              value: one.consumer_class,
              label: one.consumer_class_name,
            }))}
            onChange={setPicked}
          />
        ) : undefined
      }
      flush
    >
      <QueryBody query={query} what="The measured requests" rows={3}>
        {() =>
          row === undefined ? (
            <Empty>No class uses it yet, so nobody counts requests.</Empty>
          ) : row.minutes === 0 ? (
            <Empty>{row.why}</Empty>
          ) : (
            <Measured row={row} editor={editor} mayEdit={mayEdit} />
          )
        }
      </QueryBody>
    </Panel>
  );
}

function Measured({
  row,
  editor,
  mayEdit,
}: {
  row: RequestLoop;
  editor: Editor;
  mayEdit: boolean;
}) {
  const { draft } = editor;
  const next = filled(row, draft.parameters);
  const known = FIGURES.some(({ name }) => row[name]);
  const notes = [
    ...new Set([row.why, row.exec_why]),
    row.exec_s && !row.is_gate_measured
      ? "Nobody measured waits at the gate: answers may hold some."
      : "",
  ].filter(Boolean);
  return (
    <>
      <table className="tbl" aria-label="Requests as measured">
        <thead>
          <tr>
            <th scope="col">Figure</th>
            <th className="n" scope="col">
              Typed
            </th>
            <th className="n" scope="col">
              Measured
            </th>
          </tr>
        </thead>
        <tbody>
          {FIGURES.map(({ name, hint }) => {
            const interval = row[name];
            const typed = readNumber(textOf(draft.parameters[name]));
            return (
              <tr key={name}>
                <td title={hint}>{labelOf(name)}</td>
                <td className="n">{typed === null ? "\u2013" : shown(name, typed)}</td>
                <td className="n">
                  {interval ? (
                    <span title={`In most of ${interval.minutes} minutes; the median of them`}>
                      <b>{shown(name, interval.median)}</b>{" "}
                      <span className="faint">
                        {shown(name, interval.low)} {"\u2013"} {shown(name, interval.high)}
                      </span>
                    </span>
                  ) : (
                    <span className="faint">not known</span>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <div className="body">
        {notes.map((note) => (
          <p key={note} className="note">
            {note}
          </p>
        ))}
        <p className="faint" style={{ margin: "8px 0" }}>
          {countText(row.minutes, "minute")} with requests,{" "}
          {significant(row.answers_per_s ?? 0, DIGITS)} answers a second.
        </p>
        {mayEdit && known ? (
          // It keeps the focus when there is nothing left to take over.
          <button
            type="button"
            className="btn sm"
            aria-disabled={next === null}
            onClick={() =>
              next && editor.set({ kind: draft.kind, parameters: next as typeof draft.parameters })
            }
          >
            {next === null ? "These are typed" : "Use measured figures"}
          </button>
        ) : null}
      </div>
    </>
  );
}
