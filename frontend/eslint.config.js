import { readdirSync } from "node:fs";

import js from "@eslint/js";
import jsxA11y from "eslint-plugin-jsx-a11y";
import reactHooks from "eslint-plugin-react-hooks";
import globals from "globals";
import tseslint from "typescript-eslint";

// Import zones: shared rooms (api, components, lib) -> features -> app, never back and never sideways.
// A folder's own files are reached by "./", everything else by "@/", so a path always shows its room.
const noParent = { group: ["../*"], message: "Write @/… so that the path shows its room." };
const features = readdirSync(new URL("./src/features", import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

const zone = (files, patterns) => ({
  files,
  rules: { "no-restricted-imports": ["error", { patterns: [noParent, ...patterns] }] },
});

const featureZones = features.map((name) =>
  zone(
    [`src/features/${name}/**`],
    [
      {
        regex: `^@/features/(?!${name}/)`,
        message: "A feature does not import another feature; share it in components or lib.",
      },
      { group: ["@/app/*", "@/app"], message: "Features do not know the app that composes them." },
    ],
  ),
);

export default tseslint.config(
  { ignores: ["dist", "node_modules", "src/api/schema.d.ts"] },
  js.configs.recommended,
  {
    files: ["src/**/*.{ts,tsx}", "vite.config.ts"],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      globals: globals.browser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    plugins: { "react-hooks": reactHooks },
    rules: {
      ...reactHooks.configs.recommended.rules,
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // An empty text is "nothing given" in forms and addresses: there || is what is meant.
      "@typescript-eslint/prefer-nullish-coalescing": [
        "error",
        { ignorePrimitives: { string: true } },
      ],
      "@typescript-eslint/consistent-type-definitions": "off",
      "@typescript-eslint/consistent-type-imports": "error",
      eqeqeq: "error",
    },
  },
  { files: ["src/**/*.tsx"], ...jsxA11y.flatConfigs.recommended },
  { files: ["public/**/*.js"], languageOptions: { globals: globals.browser } },
  { files: ["eslint.config.js"], languageOptions: { globals: globals.node } },
  zone(["src/**"], []),
  zone(
    ["src/api/**", "src/lib/**", "src/components/**"],
    [
      {
        group: ["@/features/*", "@/app/*", "@/app"],
        message: "Shared rooms do not know features or the app.",
      },
    ],
  ),
  ...featureZones,
);
