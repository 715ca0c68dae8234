/** Every broker with its part of the topic: load, token bucket, delay; in what-if also drained or added. */
import { isUsed, loadOf, processesOf, processesElse, sumsOf, usedOf } from "./outcome";
import type { WhatIfState } from "./use-what-if";
import { drainedOr, MOST_ADDED, withMore } from "./what-if";

import type { BrokerShare, Outcome } from "@/api/placements";
import { LoadBar } from "@/components/ui/bars";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Icon, type IconName } from "@/components/ui/icons";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Empty, Panel } from "@/components/ui/panel";
import { download, toCsv } from "@/lib/csv";
import { countText, delayScale, fixed, percentText, rateText, UNKNOWN } from "@/lib/numbers";

const FIRST = 15;

function State({ share }: { share: BrokerShare }) {
  if (share.drained) {
    return (
      <span className="muted">
        <Icon name="ban" small /> drained
      </span>
    );
  }
  if (!isUsed(share)) return <span className="faint">not used</span>;
  return (
    <>
      <span className="up">
        <Icon name="solved" />
      </span>{" "}
      chosen
    </>
  );
}

const own = (share: BrokerShare, text: string) =>
  isUsed(share) ? text : <span className="faint">{UNKNOWN}</span>;

/** Two decimals as long as they tell something. */
const tokens = (value: number | null) => fixed(value, value !== null && value >= 1000 ? 0 : 2);

/** A command of what-if in the row of its broker. */
function Try({ icon, name, onClick }: { icon: IconName; name: string; onClick: () => void }) {
  return (
    <button
      type="button"
      className="iconbtn try"
      aria-label={name}
      title={`What if: ${name}`}
      onClick={onClick}
    >
      <Icon name={icon} small />
    </button>
  );
}

function columnsOf(
  outcome: Outcome,
  control: ((share: BrokerShare) => React.ReactNode) | null,
): Column<BrokerShare>[] {
  const scale = delayScale(usedOf(outcome).map((share) => share.p99_s));
  const faint = (share: BrokerShare, text: string) =>
    isUsed(share) ? text : <span className="faint">{text}</span>;
  const differ = new Set(outcome.shares.map((share) => share.max_rate_per_s)).size > 1;
  return [
    {
      key: "broker",
      title: "Broker",
      cell: (row) => <span className={isUsed(row) ? "ent" : "faint"}>{row.broker}</span>,
    },
    { key: "state", title: "State", cell: (row) => <State share={row} /> },
    ...(differ
      ? [
          {
            key: "max",
            title: "Max",
            unit: "msg/s",
            number: true,
            cell: (row: BrokerShare) => faint(row, rateText(row.max_rate_per_s)),
          },
        ]
      : []),
    ...(outcome.shares.some(processesElse)
      ? [
          {
            key: "processes",
            title: "Processes",
            unit: "msg/s",
            number: true,
            cell: (row: BrokerShare) => (
              <span
                className={isUsed(row) ? undefined : "faint"}
                title={
                  processesElse(row)
                    ? "As measured delays show it."
                    : "Nothing measured says otherwise: as much as may be published to it."
                }
              >
                {rateText(processesOf(row))}
              </span>
            ),
          },
        ]
      : []),
    {
      key: "existing",
      title: "Existing",
      unit: "msg/s",
      number: true,
      cell: (row) =>
        faint(row, row.allocated_rate_per_s === 0 ? "0" : rateText(row.allocated_rate_per_s)),
    },
    {
      key: "share",
      title: "Share",
      unit: "msg/s",
      number: true,
      strong: true,
      cell: (row) => own(row, rateText(row.rate_per_s)),
    },
    {
      key: "load",
      title: "Load after",
      cell: (row) => {
        const { after, before } = loadOf(row);
        return (
          <span className="loadcell">
            <LoadBar fraction={after} before={before} width={70} />
            <span className={isUsed(row) ? undefined : "faint"}>{percentText(after)}</span>
          </span>
        );
      },
    },
    {
      key: "tokens",
      title: "r",
      unit: "tokens/s",
      number: true,
      cell: (row) => own(row, rateText(row.token_rate_per_s)),
    },
    {
      key: "bucket",
      title: "b",
      unit: "tokens",
      number: true,
      cell: (row) =>
        row.below_one_token ? (
          <span
            className="worse nowrap"
            title="Below one token: every message waits until a whole token is there."
          >
            <Icon name="alert" small /> {tokens(row.bucket)}
            <span className="vh"> below one token</span>
          </span>
        ) : (
          own(row, tokens(row.bucket))
        ),
    },
    {
      key: "p99",
      title: "p99 predicted",
      unit: scale.unit,
      number: true,
      strong: true,
      cell: (row) => own(row, row.p99_s === null ? "no bound" : scale.text(row.p99_s)),
    },
    ...(control ? [{ key: "try", title: "Try", silent: true, cell: control }] : []),
  ];
}

function Sum({ outcome, columns }: { outcome: Outcome; columns: readonly Column<BrokerShare>[] }) {
  const { rate, tokens: tokenRate, bucket } = sumsOf(outcome);
  const scale = delayScale(usedOf(outcome).map((share) => share.p99_s));
  const cells: Readonly<Record<string, React.ReactNode>> = {
    broker: "Sum",
    share: rateText(rate),
    tokens: rateText(tokenRate),
    bucket: tokens(bucket),
    p99: outcome.p99_s === null ? "no bound" : scale.text(outcome.p99_s),
  };
  return (
    <tr>
      {columns.map(({ key, number }) => (
        <td key={key} className={number ? "n" : undefined}>
          {cells[key]}
        </td>
      ))}
    </tr>
  );
}

function Footer({ outcome }: { outcome: Outcome }) {
  const small = outcome.shares.filter((share) => share.below_one_token).map(({ broker }) => broker);
  return (
    <>
      {outcome.largest_share_per_s === null ? null : (
        <>The most that one publisher can get: {rateText(outcome.largest_share_per_s)} msg/s. </>
      )}
      {small.length > 0 ? (
        <span className="worse">
          <Icon name="alert" small /> The bucket of {small.slice(0, 3).join(", ")}
          {small.length > 3 ? ` and ${countText(small.length - 3, "other")}` : ""} is below one
          token: every message there waits until a whole token has come.
        </span>
      ) : null}
    </>
  );
}

export function BrokersPanel({
  name,
  outcome,
  storedDrained,
  trial,
  may,
}: {
  name: string;
  outcome: Outcome;
  storedDrained: readonly string[];
  trial: WhatIfState;
  may: boolean;
}) {
  const { shares } = outcome;
  const { draft, set, isOn, waits } = trial;
  const most = new Set(shares.map((share) => share.max_rate_per_s));
  const [first = 0] = most;
  const paged = usePaged(shares, Math.max(FIRST, usedOf(outcome).length + 3), "brokers");
  const added = draft.added ?? 0;
  // Added ones are named by the server, from "new-1" on.
  const isAdded = ({ broker }: BrokerShare) => added > 0 && /^new-\d+$/.test(broker);
  const control = (share: BrokerShare) => {
    const { broker, drained } = share;
    return isAdded(share) ? (
      <Try icon="x" name={`Remove ${broker}`} onClick={() => set(withMore(draft, -1))} />
    ) : (
      <Try
        icon={drained ? "back" : "ban"}
        name={`${drained ? "Use" : "Drain"} ${broker}`}
        onClick={() => set(drainedOr(draft, storedDrained, broker))}
      />
    );
  };
  const columns = columnsOf(outcome, may ? control : null);
  const save = () =>
    download(
      `${name} brokers.csv`,
      toCsv(
        [
          ...["broker", "drained", "max_rate_per_s", "speed_per_s", "allocated_rate_per_s"],
          "publishers",
          ...["rate_per_s", "rate_today_per_s", "token_rate_per_s", "bucket"],
          ...["p99_s", "processing_p99_s", "penalty_s"],
        ],
        shares.map((row) => [
          ...[row.broker, String(row.drained), row.max_rate_per_s, processesOf(row)],
          ...[
            row.allocated_rate_per_s,
            row.publishers,
            row.rate_per_s,
            row.rate_today_per_s,
            row.token_rate_per_s,
          ],
          ...[row.bucket, row.p99_s, row.processing_p99_s, row.penalty_s],
        ]),
      ),
    );
  return (
    <Panel
      title="Brokers"
      sub={`${most.size === 1 ? `max rate ${rateText(first)} msg/s each; ` : ""}tick is the load before`}
      className={isOn ? "wrapheads trying" : "wrapheads"}
      stale={waits}
      right={
        <>
          {may ? (
            <button
              type="button"
              className="btn sm"
              disabled={added >= MOST_ADDED}
              title={
                added >= MOST_ADDED
                  ? `No more than ${fixed(MOST_ADDED)} can be tried at a time.`
                  : undefined
              }
              onClick={() => set(withMore(draft, 1))}
            >
              <Icon name="plus" small />
              Try one more
            </button>
          ) : null}
          <button type="button" className="btn sm" onClick={save}>
            <Icon name="download" small />
            CSV
          </button>
        </>
      }
      flush
      footer={
        <>
          <Footer outcome={outcome} />
          {paged.open || paged.close ? <PageFoot paged={paged} what="brokers" /> : null}
        </>
      }
    >
      {shares.length === 0 ? (
        <Empty>No broker of the system had a publish rate.</Empty>
      ) : (
        <DataTable
          label="Brokers"
          columns={columns}
          rows={paged.visible}
          rowKey={(row) => row.broker}
          foot={<Sum outcome={outcome} columns={columns} />}
        />
      )}
    </Panel>
  );
}
