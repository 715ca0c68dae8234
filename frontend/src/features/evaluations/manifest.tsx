/** Evaluations: the search for a better overlay. */
import { lazy } from "react";

import { evaluationsAt } from "./addresses";
import "./evaluations.css";

import { keys } from "@/api/query-keys";
import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [
    {
      path: "systems/:systemId/overlays/evaluations",
      Component: lazy(() => import("./evaluations-page")),
    },
    {
      path: "systems/:systemId/overlays/evaluations/:id",
      Component: lazy(() => import("./evaluation-page")),
    },
  ],
  actions: [
    {
      group: "system",
      order: 15,
      label: "Evaluations",
      icon: "affiliate",
      address: evaluationsAt.list,
    },
  ],
  tabs: [{ section: "topology", order: 20, label: "Evaluations", address: evaluationsAt.list }],
  news: {
    overlay: () => ({ paced: [keys.evaluations.all] }),
  },
  computations: [
    {
      kind: "overlay",
      order: 20,
      title: "Overlay evaluation",
      noun: "evaluation",
      icon: "affiliate",
      answer: evaluationsAt.one,
      list: evaluationsAt.list,
      ask: evaluationsAt.ask,
      Ask: lazy(() =>
        import("./evaluate-dialog").then(({ EvaluateDialog }) => ({ default: EvaluateDialog })),
      ),
      fresh: [keys.evaluations.all],
      counted: { label: "Parts computed", note: "trees first, then the ways to them" },
      shownThere: ["kind", "methods", "goals", "planners"],
      onCancel: "No candidate is stored; the overlay stays as it is.",
      recomputed: {
        label: "The overlay",
        word: "Overlay",
        about: "Candidates for a better tree are compared again; doing nothing is one of them.",
        methods: async (queries) => {
          const { methodsQuery } = await import("@/api/evaluations");
          return (await queries.query(methodsQuery)).results;
        },
        anyMethod: "Left open: all of them.",
        benefit: {
          unit: "link messages",
          hint: "Only a candidate worth more than this becomes a plan.",
        },
      },
    },
  ],
  planKinds: [{ kind: "overlay", word: "Overlay", many: "Overlays", icon: "affiliate" }],
};
