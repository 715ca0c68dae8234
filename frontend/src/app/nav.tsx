/** The navigation: everything, the chosen system's pages, the installation. */
import { Menu } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, matchPath, useLocation, useNavigate } from "react-router";

import { useMay } from "@/api/session";
import { brokerCountQuery, useSystems } from "@/api/systems";
import { Icon, Mark } from "@/components/ui/icons";
import { rememberSystem, useRememberedSystem } from "@/lib/current-system";
import { to } from "@/lib/kinds";
import { footLines, places, placesOf, type Place } from "@/lib/manifest";
import { countText } from "@/lib/numbers";

/** Which entry an address belongs to: the one that names most of it. */
export function placeOf(path: string): Place | undefined {
  let found: { place: Place; length: number } | undefined;
  for (const place of places()) {
    for (const owned of place.owns) {
      const length = owned.split("/").filter(Boolean).length;
      const match = matchPath({ path: `/${owned}`, end: length === 0 }, path);
      if (match && (found === undefined || length > found.length)) found = { place, length };
    }
  }
  return found?.place;
}

function Entry({
  place,
  system,
  here,
  count,
  counts,
}: {
  place: Place;
  system: string;
  here: boolean;
  count?: number;
  /** What is counted, in words. */
  counts?: string;
}) {
  return (
    <Link
      className="n"
      to={place.address(system)}
      aria-current={here ? "page" : undefined}
      title={place.label}
    >
      <Icon name={place.icon} />
      <span className="lbl">{place.label}</span>
      {count ? (
        <span className="cnt" title={counts}>
          {count}
        </span>
      ) : null}
    </Link>
  );
}

function CountedEntry({
  useCount,
  ...entry
}: {
  useCount: NonNullable<Place["useCount"]>;
  place: Place;
  system: string;
  here: boolean;
}) {
  return <Entry {...entry} {...useCount()} />;
}

function Entries({ group, system = "" }: { group: Place["group"]; system?: string }) {
  const here = placeOf(useLocation().pathname);
  return placesOf(group).map((place) => {
    const entry = { place, system, here: place === here };
    return place.useCount ? (
      <CountedEntry key={place.label} useCount={place.useCount} {...entry} />
    ) : (
      <Entry key={place.label} {...entry} />
    );
  });
}

function SystemSwitch({ current }: { current: string | null }) {
  const systems = useSystems();
  const navigate = useNavigate();
  const mayCreate = useMay("create_system");
  const rows = systems.data?.results ?? [];
  const system = rows.find((row) => row.id === current);
  const size = useQuery({ ...brokerCountQuery(current ?? ""), enabled: current !== null }).data;
  const place = placeOf(useLocation().pathname);
  const choose = (id: string) => {
    rememberSystem(id);
    // The same place of the other system; from elsewhere to the first one.
    const next = place?.group === "system" ? place : placesOf("system")[0];
    void navigate(next?.address(id) ?? to.system(id));
  };
  return (
    <Menu width={230} position="bottom-start" offset={4}>
      <Menu.Target>
        <button type="button" className="switch" aria-label={`System: ${system?.name ?? "none"}`}>
          <span>
            <b>{system?.name ?? "No system"}</b>
            <span>
              {system
                ? system.product_name +
                  (size === undefined ? "" : ` \u00b7 ${countText(size, "broker")}`)
                : countText(rows.length, "system")}
            </span>
          </span>
          <Icon name="down" small />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{countText(systems.data?.count ?? 0, "system")}</Menu.Label>
        {rows.slice(0, 12).map((row) => (
          <Menu.Item
            key={row.id}
            onClick={() => choose(row.id)}
            aria-current={row.id === current ? "true" : undefined}
          >
            {row.name}
            <small>{row.product_name}</small>
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => void navigate(to.systems)}>All systems</Menu.Item>
        {mayCreate ? (
          <Menu.Item onClick={() => void navigate(to.newSystem)}>New system</Menu.Item>
        ) : null}
      </Menu.Dropdown>
    </Menu>
  );
}

export function useCurrentSystem(): string | null {
  const remembered = useRememberedSystem();
  const rows = useSystems().data?.results;
  if (remembered && (rows === undefined || rows.some((row) => row.id === remembered))) {
    return remembered;
  }
  return rows?.[0]?.id ?? null;
}

export function Nav() {
  const system = useCurrentSystem();
  return (
    <nav className="nav" aria-label="Main">
      <Link className="brand" to={to.home} aria-label="Weir, home">
        <Mark />
        Weir
      </Link>
      <Entries group="everything" />
      <h2>System</h2>
      <SystemSwitch current={system} />
      {system === null ? null : <Entries group="system" system={system} />}
      <h2>Installation</h2>
      <Entries group="installation" />
      <div className="foot">
        {footLines().map((Line, index) => (
          <Line key={index} />
        ))}
      </div>
    </nav>
  );
}
