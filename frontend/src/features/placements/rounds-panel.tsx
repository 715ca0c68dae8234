/** Placements of the topic of which each was made by what was measured under the one before. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import { placementsAt } from "./addresses";
import { mayPlaceAgain } from "./outcome";
import { PlaceAgain } from "./place-again";
import { Band, bandEnd, RoundBrokers } from "./round-brokers";
import { Interval, meanColumns } from "./round-means";
import { sloText } from "./sentences";
import { causeText, decidingOf, longText, missesMeanAlone, VerdictBadge } from "./verdicts";

import { roundsQuery, type PlacementDetail, type Round, type Rounds } from "@/api/placements";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { StateBadge } from "@/components/ui/state-badge";
import { useNow } from "@/lib/clock";
import { countText, delayScale, fixed, UNKNOWN } from "@/lib/numbers";
import { ageText, exactTime } from "@/lib/time";

const AGE_EVERY_MS = 10_000;

const unknown = <span className="faint">{UNKNOWN}</span>;
const decides = ({ measured }: Round) => (measured === null ? null : decidingOf(measured));

/** When it was measured, and for how long: until the next round was placed by it, or still. */
function When({ round, until, now }: { round: Round; until: string | null; now: Date }) {
  const deciding = decides(round);
  if (deciding === null) return unknown;
  return (
    <span title={until === null ? undefined : `until ${exactTime(until)}`}>
      {until === null ? "now" : `${ageText(until, now)} ago`}{" "}
      <span className="faint">for {longText(deciding.seconds)}</span>
    </span>
  );
}

function Verdict({ round }: { round: Round }) {
  const deciding = decides(round);
  if (deciding === null)
    return <span className="faint">{round.is_in_force ? "not measured yet" : "not in force"}</span>;
  const { broker, verdict } = deciding;
  if (verdict === null) return <VerdictBadge verdict={null} />;
  const why = causeText(deciding);
  return (
    <>
      <VerdictBadge verdict={verdict} />{" "}
      <span className="muted">
        at {verdict === "kept" ? "every broker" : broker}
        {missesMeanAlone(deciding, round) ? " on average" : ""}
        {why === null ? "" : `, ${why}`}
      </span>
    </>
  );
}

/** Opens and closes what brokers measured in a round. */
function Opener({ round, open, toggle }: { round: Round; open: boolean; toggle: () => void }) {
  if (round.measured === null || round.measured.brokers.length === 0)
    return <>{fixed(round.round)}</>;
  const name = `Brokers under ${round.name}`;
  return (
    <>
      <button
        type="button"
        className="iconbtn opener"
        aria-label={name}
        aria-expanded={open}
        title={name}
        onClick={toggle}
      >
        <Icon name={open ? "down" : "right"} small />
      </button>
      {fixed(round.round)}
    </>
  );
}

function columnsOf(
  rounds: readonly Round[],
  placement: PlacementDetail,
  now: Date,
  opener: (round: Round) => React.ReactNode,
): Column<Round>[] {
  const deciding = rounds.flatMap((round) => decides(round) ?? []);
  const scale = delayScale([
    ...rounds.map((round) => round.predicted_p99_s),
    ...deciding.flatMap(({ p99_s, low_s }) => [p99_s, low_s]),
  ]);
  const slos = rounds.flatMap(({ slo_p99_s: slo }) => slo ?? []);
  const end = bandEnd(deciding, slos.length > 0 ? Math.max(...slos) : null);
  // What is in force is measured on, also when the next is placed already.
  const until = (round: Round) =>
    round.is_in_force ? null : (rounds[rounds.indexOf(round) + 1]?.created_at ?? null);
  return [
    { key: "round", title: "Round", cell: opener },
    {
      key: "placement",
      title: "Placement",
      cell: (row) => (
        <>
          {row.placement === placement.id ? (
            <span className="ent" aria-current="page">
              {row.name}
            </span>
          ) : (
            <Link className="ent" to={placementsAt.one(placement.system, row.placement)}>
              {row.name}
            </Link>
          )}{" "}
          {row.is_in_force ? <StateBadge state="in_force" /> : null}
        </>
      ),
    },
    { key: "brokers", title: "Brokers", number: true, cell: (row) => fixed(row.brokers) },
    {
      key: "predicted",
      title: "p99 predicted",
      unit: scale.unit,
      number: true,
      cell: (row) => {
        // Of the broker whose measurement is beside it, not of all messages.
        const { predicted_p99_s: predicted } = decides(row) ?? row;
        return predicted === null ? "no bound" : scale.text(predicted);
      },
    },
    {
      key: "p99",
      title: "measured",
      unit: scale.unit,
      number: true,
      strong: true,
      cell: (row) => scale.text(decides(row)?.p99_s),
    },
    {
      key: "interval",
      title: "95 % interval",
      unit: scale.unit,
      number: true,
      cell: (row) => {
        const one = decides(row);
        return one === null ? (
          unknown
        ) : (
          <Interval low={one.low_s} high={one.high_s} scale={scale} />
        );
      },
    },
    {
      key: "band",
      title: "Against the SLO",
      silent: true,
      cell: (row) => {
        const one = decides(row);
        return one === null ? null : <Band row={one} slo={row.slo_p99_s} end={end} />;
      },
    },
    ...meanColumns(rounds, rounds, (row) => ({
      ...decides(row),
      predicted_mean_s: row.predicted_mean_s,
    })),
    { key: "verdict", title: "Verdict", cell: (row) => <Verdict round={row} /> },
    {
      key: "when",
      title: "When",
      cell: (row) => <When round={row} until={until(row)} now={now} />,
    },
  ];
}

/** What was saved against the search of the paper, which halves the publishers of who misses. */
function Saved({
  rounds: { measured_rounds: measured, search_rounds: search, results },
}: {
  rounds: Rounds;
}) {
  if (measured === 0) return null;
  const so_far = `${countText(measured, "round")} measured.`;
  // Rounds are saved once they are over, and compared by speeds only where one was fitted.
  const last = results.findLast((round) => round.measured !== null)?.measured;
  const isFitted = results.some(({ measured: of }) => of?.brokers.some((one) => one.fitted));
  if (search === null || search === 0 || last?.meets !== true || !isFitted) return <>{so_far}</>;
  const saved = search - measured;
  return (
    <>
      {so_far} By the speeds fitted, the search by halves that the paper describes would measure{" "}
      {countText(search, "round")}: {saved > 0 ? `${fixed(saved)} saved` : "none saved"}.
    </>
  );
}

/** Nothing is measured before the parts of a placement are in force. */
const isBare = ({ results }: Rounds) =>
  results.every((round) => !round.is_in_force && round.measured === null);

function footerOf(placement: PlacementDetail, rounds: Rounds | undefined) {
  if (!rounds || isBare(rounds)) return undefined;
  const { can_place_again: can, because } = rounds;
  const blocked = !can && because !== "" && mayPlaceAgain(placement);
  return rounds.measured_rounds > 0 || blocked ? (
    <>
      <Saved rounds={rounds} />{" "}
      {blocked ? (
        <span>
          <Icon name="info" small /> {because}
        </span>
      ) : null}
    </>
  ) : undefined;
}

/** The round in force, or the last that was measured: what somebody comes to see. */
const shownFirst = ({ results }: Rounds) =>
  (
    results.find((round) => round.is_in_force && round.measured !== null) ??
    results.findLast((round) => round.measured !== null)
  )?.placement;

function RoundsTable({ placement, rounds }: { placement: PlacementDetail; rounds: Rounds }) {
  const now = useNow(true, AGE_EVERY_MS);
  const [toggled, setToggled] = useState<Readonly<Record<string, boolean>>>({});
  const first = shownFirst(rounds);
  const isOpen = ({ placement: id }: Round) => toggled[id] ?? id === first;
  return (
    <DataTable
      label="Rounds"
      columns={columnsOf(rounds.results, placement, now, (round) => (
        <Opener
          round={round}
          open={isOpen(round)}
          toggle={() => setToggled({ ...toggled, [round.placement]: !isOpen(round) })}
        />
      ))}
      rows={rounds.results}
      rowKey={(round) => round.placement}
      under={(round) =>
        isOpen(round) && round.measured !== null ? <RoundBrokers round={round} /> : null
      }
    />
  );
}

export function RoundsPanel({ placement }: { placement: PlacementDetail }) {
  const rounds = useQuery(roundsQuery(placement.id));
  const { topic_name: topic } = placement;
  const slo = sloText(placement);
  return (
    <Panel
      title="Measured and placed again"
      sub={`rounds of ${topic}${slo === null ? "" : `, ${slo}`}`}
      right={rounds.data ? <PlaceAgain placement={placement} rounds={rounds.data} /> : undefined}
      className="wrapheads"
      flush
      footer={footerOf(placement, rounds.data)}
    >
      <QueryBody query={rounds} what="What was measured" rows={3}>
        {(data) =>
          isBare(data) ? (
            <Empty>{data.because}</Empty>
          ) : (
            <RoundsTable placement={placement} rounds={data} />
          )
        }
      </QueryBody>
    </Panel>
  );
}
