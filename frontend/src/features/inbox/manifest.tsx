/** The inbox: what waits for a person, and what they should know. */
import { useQuery } from "@tanstack/react-query";
import { lazy } from "react";

import { inboxQuery } from "@/api/inbox";
import { keys } from "@/api/query-keys";
import { to } from "@/lib/kinds";
import type { Manifest } from "@/lib/manifest";
import { countText } from "@/lib/numbers";

function useCount() {
  const count = useQuery(inboxQuery).data?.waiting ?? 0;
  return { count, counts: `${countText(count, "thing waits", "things wait")} for you` };
}

export const manifest: Manifest = {
  routes: [{ path: "inbox", Component: lazy(() => import("./inbox-page")) }],
  places: [
    {
      group: "everything",
      order: 15,
      label: "Inbox",
      icon: "inbox",
      address: () => to.inbox,
      owns: ["inbox"],
      key: "i",
      useCount,
    },
  ],
  news: {
    inbox: () => ({ paced: [keys.inbox] }),
  },
};
