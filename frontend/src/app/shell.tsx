/** The frame of every page: navigation, top bar, live news, palette, keys. */
import { useQueryClient } from "@tanstack/react-query";
import { Suspense, useEffect, useState } from "react";
import { Navigate, Outlet, useLocation, useNavigate } from "react-router";

import { PageErrorBoundary } from "./error-boundary";
import { Nav, useCurrentSystem } from "./nav";
import { Palette } from "./palette";
import { OfflineBar, StartingBar, StopBar, TopBar } from "./top-bar";

import { onSignedOut } from "@/api/client";
import { listen } from "@/api/live";
import { keys } from "@/api/query-keys";
import { useSession } from "@/api/session";
import { Dialog } from "@/components/ui/dialogs";
import { Failure, Loading } from "@/components/ui/panel";
import { useKeys } from "@/lib/keyboard";
import { places, type Place } from "@/lib/manifest";

type Meaning = readonly [key: string, meaning: string];

const FIRST: readonly Meaning[] = [
  ["Ctrl K", "Go to or do anything"],
  ["/", "Find in this list"],
];

const LAST: readonly Meaning[] = [
  ["J  K", "Next row, previous row"],
  ["Enter", "Open the row"],
  ["[  ]", "Step back, step on"],
  ["Space", "Play the steps"],
  ["E", "Edit"],
  ["Ctrl S", "Save"],
  ["Esc", "Close"],
  ["?", "This list"],
];

/** Places with a key of their own: it is pressed after G. */
const keyed = () =>
  places().flatMap((place) => (place.key === undefined ? [] : { ...place, key: place.key }));

const meanings = (): Meaning[] => [
  ...FIRST,
  ...keyed().map(({ key, label }): Meaning => [`G ${key.toUpperCase()}`, label]),
  ...LAST,
];

function KeysDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog title="Keyboard" open={open} onClose={onClose}>
      <dl className="keys">
        {meanings().map(([key, meaning]) => (
          <div key={key} style={{ display: "contents" }}>
            <dt>
              {key.split("  ").map((part) => (
                <kbd key={part} style={{ marginLeft: 4 }}>
                  {part}
                </kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

/** A page before there is a frame. */
function Alone({ children }: { children: React.ReactNode }) {
  return (
    <main className="signin">
      <section className="panel" style={{ padding: 14 }}>
        <h1 className="vh">Weir</h1>
        {children}
      </section>
    </main>
  );
}

/** Nobody passes without a session; where one wanted to go is kept for after the sign-in. */
export function SignedIn() {
  const session = useSession();
  const location = useLocation();
  if (session.isPending) {
    return (
      <Alone>
        <Loading rows={3} label="Loading the session" />
      </Alone>
    );
  }
  if (session.data?.signed_in) return <Shell />;
  if (session.error && !session.data) {
    return (
      <Alone>
        <Failure error={session.error} what="Your session" retry={() => void session.refetch()} />
      </Alone>
    );
  }
  return <Navigate to="/sign-in" replace state={{ from: location.pathname + location.search }} />;
}

function Shell() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const location = useLocation();
  const system = useCurrentSystem();
  const [showKeys, setShowKeys] = useState(false);
  useEffect(() => listen(queries), [queries]);
  useEffect(
    () => onSignedOut(() => void queries.invalidateQueries({ queryKey: keys.session })),
    [queries],
  );
  const open = (place: Place) => () => {
    if (place.group !== "system") void navigate(place.address(""));
    else if (system !== null) void navigate(place.address(system));
  };
  useKeys({
    ...Object.fromEntries(keyed().map((place) => [`g ${place.key}`, open(place)])),
    "?": () => setShowKeys(true),
  });
  return (
    <div className="shell">
      <a className="skip btn" href="#content">
        To the content
      </a>
      <Nav />
      <div>
        <TopBar />
        <OfflineBar />
        <StartingBar />
        <StopBar />
        <main id="content" tabIndex={-1} style={{ outline: "none" }}>
          <PageErrorBoundary key={location.pathname}>
            <Suspense fallback={<Loading rows={6} label="Loading the page" />}>
              <Outlet />
            </Suspense>
          </PageErrorBoundary>
        </main>
      </div>
      <Palette onKeys={() => setShowKeys(true)} />
      <KeysDialog open={showKeys} onClose={() => setShowKeys(false)} />
    </div>
  );
}
