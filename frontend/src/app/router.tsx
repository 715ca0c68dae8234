/** Addresses and the pages that answer to them, as the features say; each page is its own chunk. */
import { createBrowserRouter, type RouteObject } from "react-router";

import { NotFound } from "./not-found";
import { SignedIn } from "./shell";

import { manifests } from "@/lib/manifest";

export const makeRoutes = (): RouteObject[] => [
  ...manifests().flatMap((manifest) => manifest.routesOutside ?? []),
  {
    path: "/",
    element: <SignedIn />,
    children: [
      ...manifests().flatMap((manifest) => manifest.routes ?? []),
      { path: "*", element: <NotFound /> },
    ],
  },
];

export const makeRouter = () => createBrowserRouter(makeRoutes());
