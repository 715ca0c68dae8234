/** Ctrl K: go anywhere, do the few things that start from anywhere, find an object by its name. */
import { Spotlight, type SpotlightActionData } from "@mantine/spotlight";
import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { useCurrentSystem } from "./nav";

import { useSession } from "@/api/session";
import { useSystems } from "@/api/systems";
import { Icon, type IconName } from "@/components/ui/icons";
import { finders, waysOf, type Action, type Place } from "@/lib/manifest";
import { toggleTheme } from "@/lib/theme";

export function Palette({ onKeys }: { onKeys: () => void }) {
  const navigate = useNavigate();
  const systems = useSystems().data?.results ?? [];
  const system = useCurrentSystem();
  const name = systems.find((row) => row.id === system)?.name;
  const allowed = useSession().data?.allowed_commands ?? [];
  const [query, setQuery] = useState("");
  const text = query.trim();
  const groups = finders();
  const answers = useQueries({
    queries: groups.map(({ branch, find }) => ({
      queryKey: [...branch, "palette", system, text],
      enabled: text.length >= 2,
      queryFn: ({ signal }: { signal: AbortSignal }) => find(text, system, signal),
    })),
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
  const way = ({ label, icon, address, ...way }: Place | Action) =>
    "may" in way && way.may !== undefined && !allowed.includes(way.may)
      ? []
      : action(
          label,
          label,
          icon,
          go(address(system ?? "")),
          way.group === "system" ? name : undefined,
        );
  const found = groups.map(({ group }, index) => ({
    group,
    actions: (answers[index]?.data ?? []).map((one) =>
      action(one.id, one.label, one.icon, go(one.address), one.description),
    ),
  }));
  const inSystem = {
    group: name ?? "System",
    actions: system === null ? [] : waysOf("system").flatMap(way),
  };
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
        ...[...found, inSystem].filter(({ actions }) => actions.length > 0),
        {
          group: "Everywhere",
          actions: [
            ...[...waysOf("everything"), ...waysOf("installation")].flatMap(way),
            action("theme", "Switch light and dark", "moon", toggleTheme),
            action("keys", "Keyboard", "info", onKeys),
          ],
        },
      ]}
    />
  );
}
