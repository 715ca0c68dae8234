/** One topic, class or broker over time: what was measured of it, against what was promised. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";

import "./measured.css";

import {
  brokerBoard,
  classBoard,
  delayCrests,
  gateCrests,
  topicBoard,
  NO_CRESTS,
  type BoardKind,
  type Crest,
} from "./boards";
import { Charts, DelayKinds, Ranges } from "./charts";
import { DemandPanel } from "./demand-panel";
import { ObjectivesPanel } from "./objectives-panel";
import { QualityPanel } from "./quality-panel";
import { kindOf, rangeOf, useAddressChange } from "./question";
import type { DelayKind, Range } from "./sums";

import { catalogOne } from "@/api/catalog";
import { sloComplianceQuery } from "@/api/objectives";
import { modelStateQuery } from "@/api/plans";
import { keys } from "@/api/query-keys";
import { useSystem } from "@/api/systems";
import { flowStatusQuery } from "@/api/telemetry";
import { PageHead } from "@/components/ui/page";
import { Empty, QueryBody } from "@/components/ui/panel";
import { WaitingPanel } from "@/components/ui/waiting-panel";
import { useCurrentSystemIs } from "@/lib/current-system";
import { KINDS, to } from "@/lib/kinds";
import { fixed } from "@/lib/numbers";

const KIND_NAMES: readonly BoardKind[] = ["topics", "consumer-classes", "brokers"];
const MOST_OBJECTIVES = 100;

type Subject = {
  id: string;
  name: string;
  version: number;
  topic?: unknown;
  pattern?: unknown;
  delivery?: unknown;
};

export default function OverTimePage() {
  const { systemId = "", kind = "", id = "" } = useParams();
  const known = KIND_NAMES.find((each) => each === kind);
  return known ? (
    <Loaded key={id} system={systemId} kind={known} id={id} />
  ) : (
    <div className="main">
      <section className="panel">
        <Empty>Nothing is measured of this kind of object.</Empty>
      </section>
    </div>
  );
}

function Loaded({ system, kind, id }: { system: string; kind: BoardKind; id: string }) {
  useCurrentSystemIs(system);
  const owner = useSystem(system).data?.name ?? "System";
  const one = useQuery({
    queryKey: keys.catalog.one(kind, id),
    queryFn: ({ signal }) => catalogOne(kind, id, signal),
  });
  const [params, change] = useAddressChange();
  const range = rangeOf(params);
  const words = KINDS[kind];
  if (one.data && one.data.system !== system) {
    return (
      <div className="main">
        <section className="panel">
          <Empty>{`This system has no such ${words.one}: ${one.data.name} is of another one.`}</Empty>
        </section>
      </div>
    );
  }
  return (
    <>
      <PageHead
        title={one.data ? `${one.data.name} over time` : words.many}
        crumbs={[
          { label: owner, to: to.system(system) },
          { label: words.many, to: to.kind(system, kind) },
          ...(one.data ? [{ label: one.data.name, to: to.object(system, kind, id) }] : []),
        ]}
        state={<span className="tag out">{words.one}</span>}
        commands={<Ranges value={range} onChange={(value) => change({ range: value })} />}
        plainFacts={<span>what was measured, minute by minute, against what was promised</span>}
      />
      <div className="main">
        {one.data ? (
          <Board
            system={system}
            kind={kind}
            subject={one.data}
            range={range}
            delay={params.get("delay") ?? ""}
            onDelay={(value) => change({ delay: value })}
          />
        ) : (
          <section className="panel">
            <QueryBody query={one} what={`This ${words.one}`} rows={8}>
              {() => null}
            </QueryBody>
          </section>
        )}
      </div>
    </>
  );
}

type Shown = {
  system: string;
  subject: Subject;
  range: Range;
  delay: string;
  onDelay: (kind: DelayKind) => void;
};

function Board({ kind, ...shown }: Shown & { kind: BoardKind }) {
  if (kind === "topics") return <TopicBoard {...shown} />;
  return kind === "brokers" ? <BrokerBoard {...shown} /> : <ClassBoard {...shown} />;
}

/** Gates know no classes. */
const KINDS_OF_CLASSES: readonly DelayKind[] = ["delivery", "answer"];
const KINDS_OF_TOPICS: readonly DelayKind[] = [...KINDS_OF_CLASSES, "gate"];

const usualOf = (pattern: unknown): DelayKind =>
  pattern === "request_response" ? "answer" : "delivery";

function TopicBoard({ system, subject, range, delay, onDelay }: Shown) {
  const usual = usualOf(subject.pattern);
  const kind = kindOf(delay, usual, KINDS_OF_TOPICS);
  const flows = useQuery(flowStatusQuery(system));
  const objectives = useQuery(
    sloComplianceQuery(system, { topic: subject.id, page_size: MOST_OBJECTIVES }),
  );
  const crests = {
    rate: gateCrests(flows.data?.flows ?? [], subject.name),
    // Of another kind of delay they promise nothing.
    delay: kind === usual ? delayCrests(objectives.data?.results ?? []) : NO_CRESTS,
  };
  return (
    <>
      <Charts
        specs={topicBoard(subject.name, kind)}
        {...{ system, range, crests }}
        delay={<DelayKinds kinds={KINDS_OF_TOPICS} value={kind} onChange={onDelay} />}
      />
      <DemandPanel system={system} topic={subject.id} />
      {subject.delivery === "reliable" ? (
        <div className="cols c-8-4">
          <ObjectivesPanel system={system} query={objectives} of="this topic" />
          <WaitingPanel system={system} topic={subject.name} />
        </div>
      ) : (
        <ObjectivesPanel system={system} query={objectives} of="this topic" />
      )}
    </>
  );
}

function ClassBoard({ system, subject, range, delay, onDelay }: Shown) {
  const id = typeof subject.topic === "string" ? subject.topic : "";
  const topic = useQuery({
    queryKey: keys.catalog.one("topics", id),
    queryFn: ({ signal }) => catalogOne("topics", id, signal),
    enabled: id !== "",
  });
  const kind = kindOf(delay, usualOf(topic.data?.pattern), KINDS_OF_CLASSES);
  const state = useQuery(
    modelStateQuery({ system, kind: "class", name: subject.name }, subject.version),
  );
  const crests = {
    consumers: (state.data?.results ?? []).flatMap(({ limit, broker }): Crest[] =>
      limit === null
        ? []
        : [{ value: limit, text: `limit${broker ? ` at ${broker}` : ""} ${fixed(limit)}` }],
    ),
  };
  return (
    <>
      <Charts
        specs={classBoard(subject.name, kind)}
        {...{ system, range, crests }}
        delay={<DelayKinds kinds={KINDS_OF_CLASSES} value={kind} onChange={onDelay} />}
      />
      {id === "" ? null : <DemandPanel system={system} topic={id} only={subject.id} />}
    </>
  );
}

const BrokerBoard = ({ system, subject, range }: Shown) => (
  <>
    <Charts specs={brokerBoard(subject.name)} {...{ system, range }} />
    <QualityPanel {...{ system, range }} broker={subject.id} />
  </>
);
