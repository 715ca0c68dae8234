/** The top bar: where one is, the palette, whether what is shown is live, the theme, the person. */
import { Menu } from "@mantine/core";
import { spotlight } from "@mantine/spotlight";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate } from "react-router";

import { automaticResume, stopQuery } from "@/api/automation";
import { inboxQuery } from "@/api/inbox";
import { useLive, useSilence } from "@/api/live";
import { keys } from "@/api/query-keys";
import { processesQuery } from "@/api/runs";
import { signOut, useSession } from "@/api/session";
import { Command } from "@/components/ui/command";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { Icon } from "@/components/ui/icons";
import { tellFailure } from "@/components/ui/toast";
import { useCrumbs } from "@/lib/crumbs";
import { to } from "@/lib/kinds";
import { countText } from "@/lib/numbers";
import { toggleTheme, useTheme } from "@/lib/theme";
import { clockText } from "@/lib/time";

function LiveState() {
  const status = useLive((all) => all.status);
  const { seconds, stale } = useSilence();
  if (status === "offline") {
    return (
      <span className="live off" role="status">
        <i />
        Offline
      </span>
    );
  }
  if (seconds === null) {
    return (
      <span className="live stale">
        <i />
        Connecting
      </span>
    );
  }
  return (
    <span className={stale ? "live stale" : "live"} title="When the server was last heard">
      <i />
      {stale ? `${seconds} s old` : `Live \u00b7 ${seconds} s ago`}
    </span>
  );
}

export function OfflineBar() {
  const offlineSince = useLive((all) => (all.status === "offline" ? all.offlineSince : undefined));
  if (offlineSince === undefined) return null;
  return (
    <div className="offline" role="status">
      <Icon name="offline" small />
      Offline since {clockText(offlineSince === null ? null : new Date(offlineSince))} UTC, trying
      again every few seconds. Values on the page are kept; commands wait.
    </div>
  );
}

/** What computes runs and does not answer: it starts, or it is down. Pages work without it. */
export function StartingBar() {
  const { data } = useQuery(processesQuery);
  const away = data?.filter((process) => !process.answers) ?? [];
  if (away.length === 0) return null;
  return (
    <div className="offline" role="status">
      <Icon name="clock" small />
      Not answering, perhaps still starting:{" "}
      {away
        .map((process) => `${process.name} (${process.meanwhile.replace(/\.$/, "")})`)
        .join("; ")}
      .
    </div>
  );
}

/** Everything that Weir does by itself is stopped: who did it and why, and the way to go on. */
export function StopBar() {
  const queries = useQueryClient();
  const { data: stop } = useQuery(stopQuery);
  const [open, setOpen] = useState(false);
  if (!stop) return null;
  return (
    <div className="offline stopped" role="status">
      <Icon name="stop" small />
      <span>
        <b>{stop.stopped_by_name} stopped everything that Weir does by itself</b> at{" "}
        {clockText(stop.stopped_at)} UTC: {stop.reason}
      </span>
      {stop.allowed_commands.includes("resume") ? (
        <Command small onClick={() => setOpen(true)}>
          Let it go on
        </Command>
      ) : null}
      <ConfirmDialog
        title="Let Weir act by itself again"
        open={open}
        onClose={() => setOpen(false)}
        command="Let it go on"
        dangerous={false}
        askReason
        run={async (reason) => {
          await automaticResume(stop.id, reason);
          await queries.invalidateQueries({ queryKey: keys.automaticStop });
        }}
      >
        <p>
          Schedules and triggers fire again, those that came due meanwhile once. Plans that were to
          be carried out without a person begin where they still fit, and paused executions go on.
        </p>
      </ConfirmDialog>
    </div>
  );
}

/** What waits for this person, on every page. */
export function InboxButton() {
  const inbox = useQuery(inboxQuery);
  const waiting = inbox.data?.waiting ?? 0;
  let label = "Inbox: nothing waits for you";
  if (waiting > 0) label = `Inbox: ${countText(waiting, "thing waits", "things wait")} for you`;
  // What was read before is shown; it says nothing of now.
  else if (inbox.data === undefined || inbox.isError) label = "Inbox";
  return (
    <Link className="iconbtn" to={to.inbox} aria-label={label} title={label}>
      <Icon name="inbox" />
      {waiting > 0 ? <i className="pip" /> : null}
    </Link>
  );
}

function initials(name: string): string {
  const words = name.split(/\s+/).filter(Boolean);
  const [first, second] = words;
  return ((first?.[0] ?? "?") + (second?.[0] ?? first?.[1] ?? "")).toUpperCase();
}

function Person() {
  const session = useSession().data;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const leave = async () => {
    try {
      await signOut();
      queries.clear();
      await navigate("/sign-in");
    } catch (error) {
      tellFailure("Not signed out", error);
    }
  };
  const name = session?.display_name ?? session?.username ?? "";
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <button type="button" className="ava" aria-label={`Person: ${name}`}>
          {initials(name)}
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {name}
          <br />
          {session?.roles.join(", ")}
        </Menu.Label>
        <Menu.Item onClick={() => void navigate(to.settings)}>Settings</Menu.Item>
        <Menu.Item onClick={() => void leave()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

export function TopBar() {
  const crumbs = useCrumbs();
  const theme = useTheme();
  return (
    <header className="top">
      <nav className="crumbs" aria-label="Breadcrumb">
        {crumbs.map((crumb, index) => (
          <span key={`${index}-${crumb.label}`} className="crumbs">
            {index > 0 ? <Icon name="right" /> : null}
            {crumb.to && index < crumbs.length - 1 ? (
              <Link to={crumb.to}>{crumb.label}</Link>
            ) : (
              <b aria-current={index === crumbs.length - 1 ? "page" : undefined}>{crumb.label}</b>
            )}
          </span>
        ))}
      </nav>
      <button type="button" className="find" onClick={() => spotlight.open()}>
        <Icon name="search" small />
        Go to or do anything
        <kbd>Ctrl K</kbd>
      </button>
      <LiveState />
      <InboxButton />
      <button
        type="button"
        className="iconbtn"
        aria-label={theme === "dark" ? "Switch to light" : "Switch to dark"}
        title={theme === "dark" ? "Switch to light" : "Switch to dark"}
        onClick={toggleTheme}
      >
        <Icon name={theme === "dark" ? "sun" : "moon"} />
      </button>
      <Person />
    </header>
  );
}
