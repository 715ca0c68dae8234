/** The parts of the topic's bucket that are in force, with what brokers measure of them. */
import { useQuery } from "@tanstack/react-query";

import { sizeText } from "./adaptation";
import { delay } from "./sentences";

import { adaptationQuery, isMoved, type AdaptedPart } from "@/api/adaptation";
import {
  partsQuery,
  type BrokerShare,
  type Part,
  type Parts,
  type PlacementDetail,
} from "@/api/placements";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
import { Panel, QueryBody } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { countText, fixed, percentText, rateText, UNKNOWN } from "@/lib/numbers";

const unknown = <span className="faint">{UNKNOWN}</span>;

function Mode({ part }: { part: Part }) {
  if (part.rate_per_s === 0)
    return (
      <Badge tone="idle" icon="ban" title="Nothing of the topic may enter here.">
        closed
      </Badge>
    );
  return part.mode === "count" ? (
    <Badge tone="waits" icon="hourglass" title="What exceeds the part passes, and is counted.">
      only counted
    </Badge>
  ) : (
    <Badge tone="good" icon="check" title="What exceeds the part waits.">
      enforced
    </Badge>
  );
}

/** What a part would hold, of what came since it is counted. */
function WouldHold({ part: { messages, held } }: { part: Part }) {
  if (messages === null || held === null) return unknown;
  const share = messages === 0 ? 0 : held / messages;
  return (
    <span title={`${fixed(held)} of ${countText(messages, "message")}`}>
      {percentText(share, 2)}
    </span>
  );
}

/** A 99th percentile of fewer messages is little more than the longest wait of them. */
const FEW = 100;

function Waited({ part: { wait_p99_s: p99, wait_messages: messages } }: { part: Part }) {
  if (p99 === null) return <span className="faint">not measured yet</span>;
  if ((messages ?? 0) >= FEW) return delay(p99);
  return (
    <span title={`Rests on ${countText(messages ?? 0, "message")}: fewer than ${FEW} say little.`}>
      {delay(p99)} <span className="faint">of few</span>
    </span>
  );
}

const SLACK = 1e-9;

/** Whether the part in force is the one that the placement gives the broker. */
const isPartOf = (share: BrokerShare, part: Part) =>
  [[share.token_rate_per_s, part.rate_per_s] as const, [share.bucket, part.size] as const].every(
    ([one, other]) => one !== null && Math.abs(one - other) <= 1e-6 * one,
  );

/** The wait for tokens, as the placement predicts it for this very part. */
function Predicted({ part, shares }: { part: Part; shares: readonly BrokerShare[] }) {
  const share = shares.find(({ broker }) => broker === part.broker);
  if (!share || !isPartOf(share, part))
    return (
      <span className="faint" title="The part in force is not the one of this placement.">
        {UNKNOWN}
      </span>
    );
  return (
    <span title="For messages that come at random as the model says. What is measured at a gate includes what the agent itself takes.">
      {delay(share.wait_p99_s ?? null)}
    </span>
  );
}

const isOpen = (part: Part) => part.rate_per_s > 0;
const isEnforced = (part: Part) => part.mode === "enforce" && isOpen(part);

/** A number of a part in force, marked where another is enforced now because traffic moved. */
function InForce({ now, text, of }: { now: string | null; text: string; of: string }) {
  if (now === null || now === text) return <>{text}</>;
  const words = `In force; adapted to traffic, ${now} ${of} now.`;
  return (
    <span className="nowrap" title={words}>
      <span className="adaptedmark">
        <Icon name="gauge" small />
        <span className="vh">adapted, {now} now</span>
      </span>{" "}
      {text}
    </span>
  );
}

/** What a part holds and what it would hold are never in one column. `adapted`: asked of brokers
 * now, where that is another than what is in force. */
function columnsOf(
  parts: readonly Part[],
  shares: readonly BrokerShare[],
  adapted: readonly AdaptedPart[],
): Column<Part>[] {
  const nowOf = ({ broker }: Part) => adapted.find((one) => one.broker === broker);
  const columns: Column<Part>[] = [
    { key: "broker", title: "Broker", cell: (row) => <span className="ent">{row.broker}</span> },
    { key: "mode", title: "State", cell: (row) => <Mode part={row} /> },
    {
      key: "publishers",
      title: "Publishers",
      number: true,
      cell: (row) =>
        row.publishers === null ? (
          <span className="faint" title="It has no list of publishers: it lets every one in.">
            any
          </span>
        ) : (
          fixed(row.publishers)
        ),
    },
    {
      key: "rate",
      title: "r",
      unit: "tokens/s",
      number: true,
      cell: (row) => {
        if (!isOpen(row)) return unknown;
        const now = nowOf(row);
        return (
          <InForce
            text={rateText(row.rate_per_s)}
            now={now ? rateText(now.rate_per_s) : null}
            of="tokens/s"
          />
        );
      },
    },
    {
      key: "size",
      title: "b",
      unit: "tokens",
      number: true,
      cell: (row) => {
        if (!isOpen(row)) return unknown;
        const now = nowOf(row);
        return (
          <InForce text={sizeText(row.size)} now={now ? sizeText(now.size) : null} of="tokens" />
        );
      },
    },
    {
      key: "passes",
      title: "Passes",
      unit: "msg/s",
      number: true,
      cell: (row) =>
        row.passed_per_s === null
          ? unknown
          : row.passed_per_s === 0
            ? "0"
            : rateText(row.passed_per_s),
    },
    {
      key: "waiting",
      title: "Waiting",
      unit: "msg",
      number: true,
      cell: (row) => (row.waiting === null ? unknown : fixed(row.waiting)),
    },
  ];
  const measured: Column<Part>[] = [
    {
      key: "waited",
      title: "p99 wait, measured",
      number: true,
      strong: true,
      cell: (row) => (isEnforced(row) ? <Waited part={row} /> : unknown),
    },
    {
      key: "predicted",
      title: "Predicted",
      number: true,
      cell: (row) => (isEnforced(row) ? <Predicted part={row} shares={shares} /> : unknown),
    },
    {
      key: "messages",
      title: "Of",
      unit: "msg, last minute",
      number: true,
      cell: (row) => (row.wait_messages === null ? unknown : fixed(row.wait_messages)),
    },
  ];
  const counted: Column<Part>[] = [
    { key: "held", title: "Would hold", number: true, cell: (row) => <WouldHold part={row} /> },
    {
      key: "p99",
      title: "p99 would wait",
      number: true,
      strong: true,
      cell: (row) => (row.p99_s === null ? unknown : delay(row.p99_s)),
    },
    {
      key: "longest",
      title: "Longest",
      number: true,
      cell: (row) => (row.longest_s === null ? unknown : delay(row.longest_s)),
    },
  ];
  return [
    ...columns,
    ...(parts.some(isEnforced) ? measured : []),
    ...(parts.some(({ mode }) => mode === "count") ? counted : []),
  ];
}

const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);

/** Whether the enforced parts let through more than the model's contract, which was edited since. */
function isAbove({ results, token_rate_per_s: rate, bucket }: Parts): boolean {
  const enforced = results.filter(({ mode }) => mode === "enforce");
  const most = (limit: number | null) => (limit ?? 0) * (1 + SLACK);
  return (
    sum(enforced.map((part) => part.rate_per_s)) > most(rate) ||
    sum(enforced.map(({ size }) => size)) > most(bucket)
  );
}

function Above({ parts: { results, token_rate_per_s: rate, bucket } }: { parts: Parts }) {
  const all = results.filter(({ mode }) => mode === "enforce");
  return (
    <span className="worse">
      <Icon name="alert" small /> The parts add up to{" "}
      {rateText(sum(all.map((part) => part.rate_per_s)))} tokens/s and{" "}
      {fixed(sum(all.map(({ size }) => size)), 2)} tokens.{" "}
      {rate === null || bucket === null
        ? "The topic has no token bucket any more: bring the model into force, which ends them."
        : `The topic\u2019s bucket is ${rateText(rate)} tokens/s and ${fixed(bucket)} tokens by now: place it again.`}
    </span>
  );
}

/** The objective is for the wait and processing; only the wait is measured. */
function Objective({ parts, slo }: { parts: Parts; slo: number }) {
  const { largest_wait_p99_s: largest, wait_messages: messages } = parts;
  return (
    <span>
      SLO: 99 % within {delay(slo)}, wait and processing.{" "}
      {largest === null ? (
        "No wait is measured yet."
      ) : (
        <span className={largest > slo ? "worse" : undefined}>
          {largest > slo ? <Icon name="alert" small /> : null} 99 % of{" "}
          {countText(messages, "message")} waited at most {delay(largest)}, the largest of the
          brokers&rsquo; percentiles
          {largest > slo ? ": the wait alone exceeds the SLO." : "."}
        </span>
      )}
    </span>
  );
}

/** Whoever is in no list is refused everywhere, which nobody else would notice. */
function Unlisted({ count, names }: { count: number; names: readonly string[] }) {
  const more = count - names.length;
  return (
    <span className="worse">
      <Icon name="alert" small /> {countText(count, "publisher")} of the topic{" "}
      {count === 1 ? "is" : "are"} in no list and let in nowhere: {names.join(", ")}
      {more > 0 ? ` and ${fixed(more)} more` : ""}. Place the topic again, or roll back the plan
      that released them.
    </span>
  );
}

function footerOf(parts: Parts | undefined, slo: number | null) {
  if (!parts) return undefined;
  const above = isAbove(parts) ? <Above parts={parts} /> : null;
  const unlisted = parts.unlisted ? (
    <Unlisted count={parts.unlisted} names={parts.unlisted_names} />
  ) : null;
  const objective =
    slo !== null && parts.results.some(isEnforced) ? <Objective parts={parts} slo={slo} /> : null;
  return above || unlisted || objective ? (
    <>
      {above} {unlisted} {objective}
    </>
  ) : undefined;
}

/** Nothing at all while the topic's bucket is not split. */
export function PartsPanel({ placement }: { placement: PlacementDetail }) {
  const { topic } = placement;
  const parts = useQuery(partsQuery(placement.id));
  const adaptation = useQuery({
    ...adaptationQuery(topic ?? ""),
    enabled: topic !== null && (parts.data?.results.length ?? 0) > 0,
  });
  const adapted = adaptation.data?.parts.filter(isMoved) ?? [];
  // Most topics are not split: nothing is there before it is known that there is something.
  if (parts.isPending || parts.data?.results.length === 0) return null;
  return (
    <Panel
      title="In force at brokers"
      sub={`parts of the bucket of ${placement.topic_name}, measured live`}
      flush
      footer={footerOf(parts.data, placement.slo_p99_s)}
    >
      <QueryBody query={parts} what="What is in force" rows={2}>
        {(data) => (
          <DataTable
            label="Parts in force"
            columns={columnsOf(data.results, placement.outcome.shares, adapted)}
            rows={data.results}
            rowKey={(row) => row.broker}
          />
        )}
      </QueryBody>
    </Panel>
  );
}
