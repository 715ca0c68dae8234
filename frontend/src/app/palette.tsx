/** Ctrl K: go anywhere, do the few things that start from anywhere, find an object by its name. */
import { Spotlight, type SpotlightActionData } from "@mantine/spotlight";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { useCurrentSystem } from "./nav";

import { catalogList } from "@/api/catalog";
import { plansQuery } from "@/api/plans";
import { keys } from "@/api/query-keys";
import { useMay } from "@/api/session";
import { useSystems } from "@/api/systems";
import { Icon, type IconName } from "@/components/ui/icons";
import { KIND_NAMES, KINDS, to } from "@/lib/kinds";
import { toggleTheme } from "@/lib/theme";

const FOUND = ["topics", "consumer-classes", "brokers", "utility-functions"] as const;

export function Palette({ onKeys }: { onKeys: () => void }) {
  const navigate = useNavigate();
  const systems = useSystems().data?.results ?? [];
  const system = useCurrentSystem();
  const name = systems.find((row) => row.id === system)?.name;
  const mayRun = useMay("start_run");
  const [query, setQuery] = useState("");
  const text = query.trim();
  const found = useQuery({
    queryKey: [...keys.catalog.all, "palette", system, text],
    enabled: text.length >= 2 && system !== null,
    queryFn: async ({ signal }) => {
      const pages = await Promise.all(
        FOUND.map(async (kind) => {
          const page = await catalogList(
            kind,
            { system: system ?? "", search: text, page_size: 5 },
            signal,
          );
          return page.results.map((row) => ({ kind, id: row.id, name: row.name }));
        }),
      );
      return pages.flat();
    },
  });
  const plans = useQuery({
    ...plansQuery({ search: text, page_size: 5 }),
    enabled: text.length >= 2,
  });
  const action = (
    id: string,
    label: string,
    icon: IconName,
    onClick: () => void,
    description?: string,
  ): SpotlightActionData => ({
    id,
    label,
    description,
    onClick,
    leftSection: <Icon name={icon} />,
  });
  const go = (path: string) => () => void navigate(path);
  const inSystem = system
    ? [
        ...(mayRun ? [action("optimize", "Optimize", "play", go(to.optimize(system)), name)] : []),
        action("topology", "Topology", "affiliate", go(to.topology(system)), name),
        action("allocations", "Allocations", "adjustments", go(to.allocations(system)), name),
        action("resource-models", "Resource models", "gauge", go(to.calibration(system)), name),
        ...KIND_NAMES.map((kind) =>
          action(kind, KINDS[kind].many, "rss", go(to.kind(system, kind)), name),
        ),
      ]
    : [];
  const objects = (found.data ?? []).map((row) =>
    action(
      row.id,
      row.name,
      "right",
      go(system ? to.object(system, row.kind, row.id) : to.home),
      KINDS[row.kind].one,
    ),
  );
  const planActions = (plans.data?.results ?? []).map((plan) =>
    action(
      plan.id,
      `${plan.name} ${plan.title}`,
      "plan",
      go(to.plan(plan.id)),
      `${plan.system_name}, ${plan.state.replaceAll("_", " ")}`,
    ),
  );
  return (
    <Spotlight
      shortcut="mod + K"
      query={query}
      onQueryChange={setQuery}
      onSpotlightClose={() => setQuery("")}
      highlightQuery
      overlayProps={{ backgroundOpacity: 0.4, blur: 0 }}
      limit={14}
      scrollable
      maxHeight={420}
      nothingFound="Nothing of that name"
      searchProps={{
        placeholder: "Go to or do anything",
        "aria-label": "Go to or do anything",
        leftSection: <Icon name="search" />,
      }}
      actions={[
        ...(objects.length > 0 ? [{ group: "Found", actions: objects }] : []),
        ...(planActions.length > 0 ? [{ group: "Plans", actions: planActions }] : []),
        ...(inSystem.length > 0 ? [{ group: name ?? "System", actions: inSystem }] : []),
        {
          group: "Everywhere",
          actions: [
            action("home", "Home", "home", go(to.home)),
            action("plans", "Plans", "plan", go(to.plans)),
            action("runs", "Runs", "play", go(to.runs)),
            action("systems", "Systems", "server", go(to.systems)),
            action("audit", "Audit", "history", go(to.audit)),
            action("settings", "Settings", "settings", go(to.settings)),
            action("theme", "Switch light and dark", "moon", toggleTheme),
            action("keys", "Keyboard", "info", onKeys),
          ],
        },
      ]}
    />
  );
}
