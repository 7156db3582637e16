import { CSPProvider } from "@base-ui/react/csp-provider";
import { Tooltip } from "@base-ui/react/tooltip";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api/query.ts";
import { router } from "./app/router.tsx";
import "./styles.css";

const host = document.getElementById("root");
if (!host) throw new Error("index.html has no element with the id root");

createRoot(host).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <Tooltip.Provider delay={300}>
        <QueryClientProvider client={queryClient}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </Tooltip.Provider>
    </CSPProvider>
  </StrictMode>,
);
