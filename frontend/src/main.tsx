import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "@mantine/core/styles.layer.css";
import "@mantine/notifications/styles.layer.css";
import "@mantine/spotlight/styles.layer.css";
import "./styles/tokens.css";
import "./styles/components.css";
import "./styles/app.css";
import "./styles/map.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RouterProvider } from "react-router/dom";

import { gathered } from "@/app/manifests";
import { makeQueryClient, Providers } from "@/app/providers";
import { makeRouter } from "@/app/router";
import { register } from "@/lib/manifest";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");

register(gathered);

createRoot(root).render(
  <StrictMode>
    <Providers queries={makeQueryClient()}>
      <RouterProvider router={makeRouter()} />
    </Providers>
  </StrictMode>,
);
