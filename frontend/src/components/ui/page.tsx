/** The skeleton of a page: object header with identity, state, commands, facts, waterline; tabs. */
import { useEffect } from "react";
import { NavLink } from "react-router";

import { Icon, type IconName } from "./icons";

import { useSetCrumbs, type Crumb } from "@/lib/crumbs";
import { fixed } from "@/lib/numbers";

export type Fact = { icon: IconName; text: React.ReactNode; key: string };

export function PageHead({
  title,
  crumb,
  crumbs = [],
  state,
  commands,
  facts = [],
  plainFacts,
  strip,
  waterline,
  tabs,
}: {
  title: string;
  /** Shorter than the title, where the crumb before it says the rest. */
  crumb?: string;
  /** What stands before the title in the breadcrumb. */
  crumbs?: readonly Crumb[];
  state?: React.ReactNode;
  commands?: React.ReactNode;
  facts?: readonly Fact[];
  plainFacts?: React.ReactNode;
  /** Where the object stands in its life. */
  strip?: React.ReactNode;
  /** Progress 0 to 1; null while it runs without a known end. */
  waterline?: number | null;
  tabs?: readonly { to: string; label: string; count?: number }[];
}) {
  useSetCrumbs([...crumbs, { label: crumb ?? title }]);
  useEffect(() => {
    document.title = `${title} \u00b7 Weir`;
  }, [title]);
  return (
    <div className="head">
      <div className="row">
        <h1 tabIndex={-1}>{title}</h1>
        {state}
        {commands ? <div className="cmds">{commands}</div> : null}
      </div>
      {facts.length > 0 || plainFacts ? (
        <div className="facts">
          {facts.map((fact) => (
            <span key={fact.key}>
              <Icon name={fact.icon} small />
              <span>{fact.text}</span>
            </span>
          ))}
          {plainFacts}
        </div>
      ) : null}
      {strip}
      {tabs ? (
        <nav className="tabs" aria-label={`Parts of ${title}`}>
          {tabs.map((tab) => (
            <NavLink key={tab.to} to={tab.to} end>
              {tab.label}
              {tab.count === undefined ? null : <span className="num">{fixed(tab.count)}</span>}
            </NavLink>
          ))}
        </nav>
      ) : null}
      {waterline === undefined ? null : (
        <div
          className="waterline"
          role="progressbar"
          aria-label="Progress"
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={waterline === null ? undefined : Math.round(waterline * 100)}
        >
          {/* A line that stands anywhere says how far it is: where nobody knows, it is empty. */}
          <i style={{ width: `${(waterline ?? 0) * 100}%` }} />
        </div>
      )}
    </div>
  );
}

export function Segments<Value extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: Value;
  options: readonly { value: Value; label: string }[];
  onChange: (value: Value) => void;
}) {
  return (
    <span className="seg" role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </span>
  );
}
