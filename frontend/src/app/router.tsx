/** Addresses and the pages that answer to them; each page is its own chunk. */
import { lazy } from "react";
import { createBrowserRouter, Navigate, type RouteObject } from "react-router";

import { NotFound } from "./not-found";
import { SignedIn } from "./shell";

import { SignInPage } from "@/features/session/sign-in-page";

const HomePage = lazy(() => import("@/features/home/home-page"));
const SystemsPage = lazy(() => import("@/features/systems/systems-page"));
const SystemPage = lazy(() => import("@/features/systems/system-page"));
const NewSystemPage = lazy(() => import("@/features/systems/new-system-page"));
const TopologyPage = lazy(() => import("@/features/topology/topology-page"));
const EvaluationsPage = lazy(() => import("@/features/topology/evaluations-page"));
const EvaluationPage = lazy(() => import("@/features/topology/evaluation-page"));
const KindPage = lazy(() => import("@/features/catalog/kind-page"));
const ObjectPage = lazy(() => import("@/features/catalog/object-page"));
const UtilityEditorPage = lazy(() => import("@/features/catalog/editor/utility-editor-page"));
const NewObjectPage = lazy(() => import("@/features/catalog/new-object-page"));
const RunsPage = lazy(() => import("@/features/runs/runs-page"));
const RunPage = lazy(() => import("@/features/runs/run-page"));
const AllocationsPage = lazy(() => import("@/features/allocations/allocations-page"));
const AllocationPage = lazy(() => import("@/features/allocations/allocation-page"));
const StudiesPage = lazy(() => import("@/features/studies/studies-page"));
const NewStudyPage = lazy(() => import("@/features/studies/new-study-page"));
const StudyPage = lazy(() => import("@/features/studies/study-page"));
const PlansPage = lazy(() => import("@/features/plans/plans-page"));
const PlanPage = lazy(() => import("@/features/plans/plan-page"));
const CalibrationPage = lazy(() => import("@/features/calibration/calibration-page"));
const RecomputationPage = lazy(() => import("@/features/recomputation/recomputation-page"));
const TelemetryPage = lazy(() => import("@/features/telemetry/telemetry-page"));
const AuditPage = lazy(() => import("@/features/audit/audit-page"));
const SettingsPage = lazy(() => import("@/features/settings/settings-page"));

export const routes: RouteObject[] = [
  { path: "/sign-in", element: <SignInPage /> },
  {
    path: "/",
    element: <SignedIn />,
    children: [
      { index: true, element: <HomePage /> },
      { path: "systems", element: <SystemsPage /> },
      { path: "systems/new", element: <NewSystemPage /> },
      { path: "systems/:systemId", element: <SystemPage /> },
      { path: "systems/:systemId/topology", element: <TopologyPage /> },
      { path: "systems/:systemId/overlays/evaluations", element: <EvaluationsPage /> },
      { path: "systems/:systemId/overlays/evaluations/:id", element: <EvaluationPage /> },
      { path: "systems/:systemId/allocations", element: <AllocationsPage /> },
      { path: "systems/:systemId/studies", element: <StudiesPage /> },
      { path: "systems/:systemId/studies/new", element: <NewStudyPage /> },
      { path: "systems/:systemId/recomputation", element: <RecomputationPage /> },
      { path: "systems/:systemId/telemetry", element: <TelemetryPage /> },
      { path: "systems/:systemId/resource-models", element: <CalibrationPage /> },
      {
        path: "systems/:systemId/utility-functions/:id/edit",
        element: <UtilityEditorPage />,
      },
      { path: "systems/:systemId/:kind", element: <KindPage /> },
      { path: "systems/:systemId/:kind/new", element: <NewObjectPage /> },
      { path: "systems/:systemId/:kind/:id", element: <ObjectPage /> },
      { path: "runs", element: <RunsPage /> },
      { path: "runs/:id", element: <RunPage /> },
      { path: "allocations/:id", element: <AllocationPage /> },
      { path: "studies/:id", element: <StudyPage /> },
      { path: "plans", element: <PlansPage /> },
      { path: "plans/:id", element: <PlanPage /> },
      { path: "audit", element: <AuditPage /> },
      { path: "settings", element: <Navigate to="/settings/tokens" replace /> },
      { path: "settings/:tab", element: <SettingsPage /> },
      { path: "*", element: <NotFound /> },
    ],
  },
];

export const makeRouter = () => createBrowserRouter(routes);
