/** The navigation: everything, the chosen system's pages, the installation. */
import { Menu } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation, useNavigate } from "react-router";

import { useLive } from "@/api/live";
import { waitingPlansQuery } from "@/api/plans";
import { useMay } from "@/api/session";
import { brokerCountQuery, useSystems } from "@/api/systems";
import { allAgentsQuery } from "@/api/telemetry";
import { Icon, Mark, type IconName } from "@/components/ui/icons";
import { rememberSystem, useRememberedSystem } from "@/lib/current-system";
import { isKind, KINDS, to, type Section } from "@/lib/kinds";
import { countText } from "@/lib/numbers";

type Place =
  | Section
  | "allocation"
  | "audit"
  | "calibration"
  | "home"
  | "plans"
  | "recomputation"
  | "runs"
  | "settings"
  | "studies"
  | "systems"
  | "telemetry";

/** Which entry an address belongs to. */
export function placeOf(path: string): Place | null {
  const parts = path.split("/").filter(Boolean);
  const [first, , third] = parts;
  if (first === undefined) return "home";
  if (first === "allocations") return "allocation";
  if (first === "studies") return "studies";
  if (first === "plans" || first === "runs" || first === "audit" || first === "settings") {
    return first;
  }
  if (first !== "systems") return null;
  if (third === undefined) return "systems";
  if (third === "topology") return "topology";
  if (third === "allocations") return "allocation";
  if (third === "studies") return "studies";
  if (third === "telemetry" || third === "recomputation") return third;
  if (third === "resource-models") return "calibration";
  return isKind(third) ? KINDS[third].section : "systems";
}

function Entry({
  address,
  icon,
  label,
  here,
  count,
  counts,
}: {
  address: string;
  icon: IconName;
  label: string;
  here: boolean;
  count?: number;
  /** What is counted, in words. */
  counts?: string;
}) {
  return (
    <Link className="n" to={address} aria-current={here ? "page" : undefined} title={label}>
      <Icon name={icon} />
      <span className="lbl">{label}</span>
      {count ? (
        <span className="cnt" title={counts}>
          {count}
        </span>
      ) : null}
    </Link>
  );
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
    if (place === "allocation") void navigate(to.allocations(id));
    else if (place === "studies") void navigate(to.studies(id));
    else if (place === "telemetry") void navigate(to.telemetry(id));
    else if (place === "recomputation") void navigate(to.recomputation(id));
    else if (place === "calibration") void navigate(to.calibration(id));
    else if (place === "topics") void navigate(to.kind(id, "topics"));
    else if (place === "utilities") void navigate(to.kind(id, "utility-functions"));
    else if (place === "streams") void navigate(to.kind(id, "streams"));
    else void navigate(to.topology(id));
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
  const place = placeOf(useLocation().pathname);
  const system = useCurrentSystem();
  const active = useLive(
    ({ runs }) =>
      Object.values(runs).filter(({ state }) => ["queued", "running"].includes(state)).length,
  );
  const waiting = useQuery(waitingPlansQuery).data?.count ?? 0;
  const agents = useQuery(allAgentsQuery).data?.results ?? [];
  const leases = agents.filter((agent) => agent.state === "live").length;
  return (
    <nav className="nav" aria-label="Main">
      <Link className="brand" to={to.home} aria-label="Weir, home">
        <Mark />
        Weir
      </Link>
      <Entry address={to.home} icon="home" label="Home" here={place === "home"} />
      <Entry
        address={to.plans}
        icon="plan"
        label="Plans"
        here={place === "plans"}
        count={waiting || undefined}
        counts={`${countText(waiting, "plan waits", "plans wait")} for you`}
      />
      <Entry
        address={to.runs}
        icon="play"
        label="Runs"
        here={place === "runs"}
        count={active || undefined}
        counts={`${countText(active, "run")} active`}
      />
      <h2>System</h2>
      <SystemSwitch current={system} />
      {system === null ? null : (
        <>
          <Entry
            address={to.topology(system)}
            icon="affiliate"
            label="Topology"
            here={place === "topology"}
          />
          <Entry
            address={to.kind(system, "topics")}
            icon="rss"
            label="Topics"
            here={place === "topics"}
          />
          <Entry
            address={to.kind(system, "utility-functions")}
            icon="chart"
            label="Utilities &amp; SLOs"
            here={place === "utilities"}
          />
          <Entry
            address={to.kind(system, "streams")}
            icon="grid"
            label="Streams &amp; groups"
            here={place === "streams"}
          />
          <Entry
            address={to.allocations(system)}
            icon="adjustments"
            label="Allocation"
            here={place === "allocation"}
          />
          <Entry
            address={to.studies(system)}
            icon="half"
            label="What-if"
            here={place === "studies"}
          />
          <Entry
            address={to.recomputation(system)}
            icon="clock"
            label="Recomputation"
            here={place === "recomputation"}
          />
          <Entry
            address={to.telemetry(system)}
            icon="broadcast"
            label="Telemetry"
            here={place === "telemetry"}
          />
          <Entry
            address={to.calibration(system)}
            icon="gauge"
            label="Resource models"
            here={place === "calibration"}
          />
        </>
      )}
      <h2>Installation</h2>
      <Entry address={to.systems} icon="server" label="Systems" here={place === "systems"} />
      <Entry address={to.audit} icon="history" label="Audit" here={place === "audit"} />
      <Entry address={to.settings} icon="settings" label="Settings" here={place === "settings"} />
      <div className="foot">
        {agents.length > 0 ? (
          <div>
            <span>Agents</span>
            <span>
              {leases} of {agents.length} hold a lease
            </span>
          </div>
        ) : null}
        <div>
          <span>Runs active</span>
          <span>{active === 0 ? "none" : active}</span>
        </div>
      </div>
    </nav>
  );
}
