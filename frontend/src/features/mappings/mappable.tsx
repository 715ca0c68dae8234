/** What of a system would be mapped now, and what is missing where nothing can be. */
import { Fragment } from "react";
import { Link } from "react-router";

import { streamsText } from "./weights";

import { useMappable, type Mappable } from "@/api/mappings";
import { Note } from "@/components/ui/dialogs";
import { FigureStrip, type Figure } from "@/components/ui/figure-strip";
import { QueryBody } from "@/components/ui/panel";
import { KINDS, to } from "@/lib/kinds";
import { countText, fixed, percentText } from "@/lib/numbers";

/** How many flows each has on average: "70 flows each", "6.5 flows each", "1 flow each". */
export const eachText = (all: number, count: number): string => {
  const mean = count === 0 ? 0 : all / count;
  const text = fixed(mean, mean < 10 && !Number.isInteger(mean) ? 1 : 0);
  return `${text} ${text === "1" ? "flow" : "flows"} each`;
};

function pinsText({ pinned_flows: flows, pinned_streams: streams }: Mappable): string {
  if (flows + streams === 0) return "nothing is pinned";
  return `${countText(flows, "flow")} and ${countText(streams, "stream")} pinned`;
}

/** What the next mapping will be about. */
export const mappableText = (of: Mappable): string =>
  `Wanted: ${fixed(of.wanted_flows)} of ${countText(of.flows, "flow")} ` +
  `(${countText(of.users, "user")}, ${countText(of.interests, "interest")}); they go into ` +
  `${streamsText(of.streams, of.groups)}; ${pinsText(of)}.`;

const ADDED = ["topics", "subscribers", "streams", "groups"] as const;

/** Why nothing can be mapped, and where to add what is missing. */
export function CannotMap({ system, mappable }: { system: string; mappable: Mappable }) {
  if (mappable.because === "") return null;
  return (
    <Note tone="warn">
      {mappable.because} Go to{" "}
      {ADDED.map((kind, index) => (
        <Fragment key={kind}>
          {index === 0 ? "" : index === ADDED.length - 1 ? " or " : ", "}
          <Link to={to.kind(system, kind)}>{KINDS[kind].many.toLowerCase()}</Link>
        </Fragment>
      ))}
      {mappable.interests === 0 ? (
        <>
          , or <Link to={to.importInterests(system)}>import interests</Link>
        </>
      ) : null}
      .
    </Note>
  );
}

function figuresOf(of: Mappable): Figure[] {
  return [
    {
      label: "Flows that somebody wants",
      value: fixed(of.wanted_flows),
      note: `of ${fixed(of.flows)}`,
    },
    {
      label: "Users",
      value: fixed(of.users),
      note: `${countText(of.interests, "interest")}, ${eachText(of.interests, of.users)}`,
    },
    {
      label: "Streams",
      value: fixed(of.streams),
      note: `in ${countText(of.groups, "group")}`,
    },
    {
      label: "Mapped now",
      value: fixed(of.mapped_flows),
      note:
        of.wanted_flows === 0
          ? "nobody wants anything"
          : `${percentText(of.mapped_flows / of.wanted_flows, 1)} of what is wanted`,
      title: "Wanted flows that have a stream with a group",
    },
    {
      label: "Pinned",
      value: fixed(of.pinned_flows + of.pinned_streams),
      note: `${countText(of.pinned_flows, "flow")}, ${countText(of.pinned_streams, "stream")}`,
    },
  ];
}

/** Above the list: what there is to map. */
export function MappableStrip({ system }: { system: string }) {
  const mappable = useMappable(system);
  if (mappable.data) {
    return (
      <>
        <CannotMap system={system} mappable={mappable.data} />
        <FigureStrip figures={figuresOf(mappable.data)} />
      </>
    );
  }
  return (
    <section className="panel">
      <QueryBody query={mappable} what="What there is to map" rows={2}>
        {() => null}
      </QueryBody>
    </section>
  );
}
