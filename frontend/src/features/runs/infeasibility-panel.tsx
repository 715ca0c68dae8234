/** Why no allocation fits: what is short, who loads it most, and the smallest changes that help. */
import { Link } from "react-router";

import type { Schemas } from "@/api/client";
import { Panel } from "@/components/ui/panel";
import { Scroll } from "@/components/ui/scroll";
import { to } from "@/lib/kinds";
import { fixed, percentText, relativeChange, significant } from "@/lib/numbers";

type Infeasibility = Schemas["Infeasibility"];
type Shortage = Infeasibility["shortages"][number];
type Relaxation = Infeasibility["relaxations"][number];
type Change = Relaxation["changes"][number];

const DIGITS = 4;
const SHOWN = 50;
const CHANGES_SHOWN = 8;

const KINDS: Record<Relaxation["kind"], string> = {
  capacities: "More capacity",
  all_rates: "All minimum rates lower",
  few_rates: "A few minimum rates lower",
};

const PAGES = { node: "brokers", link: "links", flow: "topics" } as const;

/** Whole units as they are; of others four digits tell shortages apart. */
const work = (value: number) =>
  Number.isInteger(value) ? fixed(value) : significant(value, DIGITS);

/** Rounded so that doing what it says helps: a capacity up, a rate down. */
function enough(change: Change): string {
  const { after, kind } = change;
  const size = after > 0 ? Math.floor(Math.log10(after)) : 0;
  const scale = 10 ** Math.max(0, DIGITS - 1 - size);
  const whole = Math.round(after * scale);
  // What is whole but for its rounding must not become the next whole number.
  const near = Math.abs(after * scale - whole) <= 1e-9 * whole;
  const round = kind === "flow" ? Math.floor : Math.ceil;
  return work(near ? after : round(after * scale) / scale);
}

/** The name of a broker, link or topic, linked to its page where it is still in the model. */
function Name({
  system,
  kind,
  object,
  children,
}: {
  system: string | null;
  kind: keyof typeof PAGES;
  object: string | null;
  children: React.ReactNode;
}) {
  if (system === null || object === null) return <span className="ent">{children}</span>;
  return <Link to={to.object(system, PAGES[kind], object)}>{children}</Link>;
}

function Place({ system, one }: { system: string | null; one: Shortage | Change }) {
  return (
    <>
      {one.resource === null ? null : `${one.resource} of `}
      {one.kind === "link" ? "link " : null}
      <Name system={system} kind={one.kind} object={one.object}>
        {one.id}
      </Name>
    </>
  );
}

const placeKey = (one: { kind: string; id: string; resource: string | null }) =>
  [one.kind, one.id, one.resource].join(" ");

export function InfeasibilityPanel({
  infeasibility,
  system,
}: {
  infeasibility: Infeasibility;
  system: string | null;
}) {
  const { shortages, relaxations } = infeasibility;
  return (
    <>
      <Panel
        title="What is short"
        sub="load of the minimum rates alone, units of work per second"
        flush
        footer={
          shortages.length > SHOWN
            ? `The worst ${SHOWN} of ${shortages.length} places.`
            : "Admitting nobody is always allowed, so only minimum rates can be too much."
        }
      >
        <Scroll label="What is short">
          <table className="tbl" aria-label="What is short">
            <thead>
              <tr>
                <th scope="col">Place</th>
                <th scope="col" className="n">
                  Load
                </th>
                <th scope="col" className="n">
                  Capacity
                </th>
                <th scope="col" className="n">
                  Short
                </th>
                <th scope="col">Loaded most by</th>
              </tr>
            </thead>
            <tbody>
              {shortages.slice(0, SHOWN).map((one) => (
                <ShortageRow key={placeKey(one)} shortage={one} system={system} />
              ))}
            </tbody>
          </table>
        </Scroll>
      </Panel>
      <Panel
        title="What would help"
        sub="each alone is enough; nothing smaller of its kind is"
        flush
      >
        {relaxations.map((one, at) => (
          <RelaxationPart key={one.kind} relaxation={one} system={system} first={at === 0} />
        ))}
      </Panel>
    </>
  );
}

function ShortageRow({ shortage, system }: { shortage: Shortage; system: string | null }) {
  return (
    <tr>
      <td>
        <Place system={system} one={shortage} />
      </td>
      <td className="n">{work(shortage.load)}</td>
      <td className="n">{work(shortage.capacity)}</td>
      <td className="n">
        <b className="strong">{work(shortage.short)}</b>
      </td>
      <td style={{ whiteSpace: "normal" }}>
        {shortage.flows.map((one, at) => (
          <span key={one.flow}>
            {at > 0 ? ", " : ""}
            <Name system={system} kind="flow" object={one.object}>
              {one.flow}
            </Name>{" "}
            <span className="faint">{percentText(one.load / shortage.load)}</span>
          </span>
        ))}
      </td>
    </tr>
  );
}

function RelaxationPart({
  relaxation,
  system,
  first,
}: {
  relaxation: Relaxation;
  system: string | null;
  first: boolean;
}) {
  const { kind, sentence, changes, change_count } = relaxation;
  const title = KINDS[kind];
  return (
    <section
      aria-label={title}
      style={first ? undefined : { borderTop: "1px solid var(--line-2)", paddingTop: 12 }}
    >
      <div className="body">
        <h3 style={{ fontSize: 13, fontWeight: 600, margin: 0 }}>{title}</h3>
        <p className="muted" style={{ margin: "2px 0 0" }}>
          {sentence}
        </p>
      </div>
      {/* One factor for all needs no list. */}
      {kind === "all_rates" ? null : (
        <Scroll label={title}>
          <table className="tbl" aria-label={title}>
            <thead>
              <tr>
                <th scope="col">{kind === "capacities" ? "Capacity of" : "Minimum rate of"}</th>
                <th scope="col" className="n">
                  Now<span className="u">{kind === "capacities" ? "unit/s" : "msg/s"}</span>
                </th>
                <th scope="col" className="n">
                  {kind === "capacities" ? "At least" : "At most"}
                  <span className="u">{kind === "capacities" ? "unit/s" : "msg/s"}</span>
                </th>
                <th scope="col" className="n">
                  Change
                </th>
              </tr>
            </thead>
            <tbody>
              {changes.slice(0, CHANGES_SHOWN).map((change) => (
                <tr key={placeKey(change)}>
                  <td>
                    <Place system={system} one={change} />
                  </td>
                  <td className="n">{work(change.before)}</td>
                  <td className="n strong">{enough(change)}</td>
                  <td className="n">{relativeChange(change.after, change.before)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {kind !== "all_rates" && change_count > CHANGES_SHOWN ? (
        <p className="body muted" style={{ paddingTop: 8 }}>
          The first {CHANGES_SHOWN} of {change_count}; the result as JSON has them all.
        </p>
      ) : null}
    </section>
  );
}
