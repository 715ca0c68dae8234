/** The decisions of an adaptation, newest first: why, what moved, and how long it took. */
import { useState } from "react";

import { momentText, movesText, rateMove, sizeMove, sizeText, tookText } from "./adaptation";
import { ChangeText } from "./adaptation-parts";

import type { Adaptation, Decision, Move } from "@/api/adaptation";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
import { Empty, Panel } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { countText, rateText } from "@/lib/numbers";
import { exactTime } from "@/lib/time";

/** As many as a glance takes in. */
const SHOWN = 8;

function State({ decision: { state } }: { decision: Decision }) {
  if (state === "done")
    return (
      <Badge tone="good" icon="check">
        Done
      </Badge>
    );
  if (state === "given_up")
    return (
      <Badge tone="warn" icon="alert">
        Given up
      </Badge>
    );
  return (
    <Badge
      tone="active"
      icon="progress"
      title={
        state === "shrinking"
          ? "Nothing grows before all that shrink have confirmed."
          : "All that shrink have confirmed; the others grow."
      }
    >
      {state === "shrinking" ? "Shrinking" : "Growing"}
    </Badge>
  );
}

const MOVES: Column<Move>[] = [
  { key: "broker", title: "Broker", cell: (row) => <span className="ent">{row.broker}</span> },
  {
    key: "rate",
    title: "r",
    unit: "tokens/s",
    number: true,
    cell: (row) => `${rateText(row.before.rate_per_s)} to ${rateText(row.after.rate_per_s)}`,
  },
  {
    key: "rate-change",
    title: "Change\u00a0of\u00a0r",
    number: true,
    cell: ({ before, after }) => (
      <ChangeText change={rateMove(after.rate_per_s, before.rate_per_s)} same="unchanged" />
    ),
  },
  {
    key: "size",
    title: "b",
    unit: "tokens",
    number: true,
    cell: (row) => `${sizeText(row.before.size)} to ${sizeText(row.after.size)}`,
  },
  {
    key: "size-change",
    title: "Change\u00a0of\u00a0b",
    number: true,
    cell: ({ before, after }) => (
      <ChangeText change={sizeMove(after.size, before.size)} same="unchanged" />
    ),
  },
];

function columnsOf(opener: (decision: Decision) => React.ReactNode): Column<Decision>[] {
  return [
    { key: "at", title: "When", unit: "UTC", cell: opener },
    {
      key: "why",
      title: "Why",
      cell: (row) => (
        <div className="said">
          {row.sentence}
          {row.because ? (
            <>
              {" "}
              <span className="worse">
                <Icon name="alert" small /> {row.because}
              </span>
            </>
          ) : null}
        </div>
      ),
    },
    {
      key: "moves",
      title: "What moved",
      cell: (row) =>
        row.state === "given_up" ? (
          <span className="faint" title="What should have moved; it was given up.">
            {movesText(row)}
          </span>
        ) : (
          movesText(row)
        ),
    },
    { key: "took", title: "Took", cell: (row) => <span className="muted">{tookText(row)}</span> },
    { key: "state", title: "State", cell: (row) => <State decision={row} /> },
  ];
}

export function AdaptationDecisions({ adaptation }: { adaptation: Adaptation }) {
  const [open, setOpen] = useState<Readonly<Record<number, boolean>>>({});
  const [all, setAll] = useState(false);
  const { decisions, state } = adaptation;
  if (state === "off" && decisions.length === 0) return null;
  const opener = ({ id, at, moves }: Decision) => {
    const when = momentText(at);
    if (moves.length === 0) return <span title={exactTime(at)}>{when}</span>;
    const name = `Moves of ${when}`;
    return (
      <span className="nowrap" title={exactTime(at)}>
        <button
          type="button"
          className="iconbtn opener"
          aria-label={name}
          aria-expanded={open[id] ?? false}
          title={name}
          onClick={() => setOpen((before) => ({ ...before, [id]: !before[id] }))}
        >
          <Icon name={open[id] ? "down" : "right"} small />
        </button>
        {when}
      </span>
    );
  };
  return (
    <Panel
      title="Decisions"
      sub="newest first; what gives shrinks and is confirmed before the others grow"
      flush
      footer={
        decisions.length > SHOWN ? (
          <button type="button" className="link" onClick={() => setAll((on) => !on)}>
            {all ? "Show the newest" : `Show all ${countText(decisions.length, "decision")}`}
          </button>
        ) : undefined
      }
    >
      {decisions.length === 0 ? (
        <Empty>No decision yet. Parts move once traffic does.</Empty>
      ) : (
        <DataTable
          label="Decisions"
          columns={columnsOf(opener)}
          rows={all ? decisions : decisions.slice(0, SHOWN)}
          rowKey={(row) => String(row.id)}
          tall
          under={(row) =>
            open[row.id] ? (
              <DataTable
                label={`Moves of ${momentText(row.at)}`}
                columns={MOVES}
                rows={row.moves}
                rowKey={(move) => move.broker}
              />
            ) : null
          }
        />
      )}
    </Panel>
  );
}
