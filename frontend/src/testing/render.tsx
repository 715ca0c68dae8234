/** Render one page at its address, inside everything that pages stand in. */
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { createMemoryRouter, RouterProvider } from "react-router";

export function renderUi(ui: React.ReactNode) {
  return { user: userEvent.setup(), ...render(<MantineProvider env="test">{ui}</MantineProvider>) };
}

/** `path` is the route, `at` the address; other addresses show their own path. */
export function renderPage(page: React.ReactNode, path: string, at: string) {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false, gcTime: 0 } } });
  const router = createMemoryRouter(
    [
      { path, element: page },
      { path: "*", element: <p>elsewhere</p> },
    ],
    { initialEntries: [at] },
  );
  const user = userEvent.setup();
  const view = render(
    <QueryClientProvider client={queries}>
      <MantineProvider env="test">
        <RouterProvider router={router} />
        <Notifications />
      </MantineProvider>
    </QueryClientProvider>,
  );
  return { user, router, queries, ...view };
}
