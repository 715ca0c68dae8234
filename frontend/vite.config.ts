import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const backend = process.env.WEIR_WEB_URL ?? "http://127.0.0.1:8000";

export default defineConfig({
  base: "/",
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "dist",
    assetsDir: "assets",
    // ECharts is loaded by the pages that draw with it.
    chunkSizeWarningLimit: 700,
  },
  server: { host: "127.0.0.1", proxy: { "/api": { target: backend, changeOrigin: false } } },
  preview: { host: "127.0.0.1", proxy: { "/api": { target: backend, changeOrigin: false } } },
  test: {
    environment: "jsdom",
    globals: true,
    setupFiles: ["./src/testing/setup.ts"],
    include: ["src/**/*.test.{ts,tsx}"],
    css: false,
    // Importing everything anew for each file takes four times as long as the tests themselves.
    isolate: false,
    // Charts and maps are loaded when first drawn, which takes seconds where cores are shared.
    testTimeout: 20_000,
  },
});
