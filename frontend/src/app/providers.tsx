/** What every page stands in: queries, Mantine in our colours, notifications. */
import { createTheme, MantineProvider, type CSSVariablesResolver } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";

import { Hatchings } from "@/components/ui/icons";
import { ProblemError } from "@/lib/problem";
import { useTheme } from "@/lib/theme";

const theme = createTheme({
  fontFamily: "var(--font)",
  fontFamilyMonospace: "var(--font-mono)",
  primaryColor: "cyan",
  defaultRadius: 6,
  respectReducedMotion: true,
  cursorType: "pointer",
});

const ours = {
  "--mantine-color-body": "var(--surface)",
  "--mantine-color-text": "var(--text)",
  "--mantine-color-dimmed": "var(--text-2)",
  "--mantine-color-placeholder": "var(--text-3)",
  "--mantine-color-default": "var(--surface)",
  "--mantine-color-default-border": "var(--line-2)",
  "--mantine-color-default-hover": "var(--hover)",
  "--mantine-color-error": "var(--bad)",
  "--mantine-color-anchor": "var(--accent)",
  "--mantine-primary-color-filled": "var(--accent)",
};

const resolver: CSSVariablesResolver = () => ({ variables: {}, light: ours, dark: ours });

export function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        refetchOnWindowFocus: false,
        // A refusal stays a refusal; only an absent or broken server is asked again.
        retry: (count, error) =>
          count < 2 && !(error instanceof ProblemError && error.problem.status < 500),
      },
    },
  });
}

export function Providers({
  queries,
  children,
}: {
  queries: QueryClient;
  children: React.ReactNode;
}) {
  const scheme = useTheme();
  return (
    <QueryClientProvider client={queries}>
      <MantineProvider theme={theme} cssVariablesResolver={resolver} forceColorScheme={scheme}>
        <Hatchings />
        {children}
        <Notifications position="bottom-right" limit={3} />
      </MantineProvider>
    </QueryClientProvider>
  );
}
