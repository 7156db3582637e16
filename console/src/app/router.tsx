// All pages. Each is loaded when it is opened.
import { createRouter } from "@tanstack/react-router";
import { approvalRoutes } from "../pages/approvals/routes.ts";
import { auditRoutes } from "../pages/audit/routes.ts";
import { chatRoutes } from "../pages/chat/routes.ts";
import { executionRoutes } from "../pages/executions/routes.ts";
import { explainRoutes } from "../pages/explain/routes.ts";
import { figureRoutes } from "../pages/figures/routes.ts";
import { homeRoutes } from "../pages/home/routes.ts";
import { peopleRoutes } from "../pages/people/routes.ts";
import { policyRoutes } from "../pages/policies/routes.ts";
import { relationshipRoutes } from "../pages/relationships/routes.ts";
import { serverRoutes } from "../pages/servers/routes.ts";
import { settingsRoutes } from "../pages/settings/routes.ts";
import { toolRoutes } from "../pages/tools/routes.ts";
import { workRoutes } from "../pages/work/routes.ts";
import { Failed, Skeleton } from "../ui/states.tsx";
import { rootRoute } from "./root.tsx";

const routeTree = rootRoute.addChildren([
  ...homeRoutes,
  ...executionRoutes,
  ...approvalRoutes,
  ...toolRoutes,
  ...explainRoutes,
  ...policyRoutes,
  ...relationshipRoutes,
  ...auditRoutes,
  ...figureRoutes,
  ...serverRoutes,
  ...workRoutes,
  ...peopleRoutes,
  ...chatRoutes,
  ...settingsRoutes,
]);

export const router = createRouter({
  routeTree,
  defaultPreload: "intent",
  defaultPendingComponent: () => (
    <div className="p-6">
      <Skeleton className="h-64 w-full" />
    </div>
  ),
  // Within the frame: the other pages stay in reach.
  defaultErrorComponent: ({ error, reset }) => (
    <div className="p-6">
      <Failed cause={error} retry={reset} />
    </div>
  ),
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
