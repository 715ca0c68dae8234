/** Signing in. */
import { SignInPage } from "./sign-in-page";

import type { Manifest } from "@/lib/manifest";

// Not a chunk of its own: whoever is not signed in sees this page first.
export const manifest: Manifest = {
  routesOutside: [{ path: "/sign-in", Component: SignInPage }],
};
