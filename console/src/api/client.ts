// The public API, typed by the server's own router. Nothing else of the server is known here.
import { createTRPCClient, httpLink, splitLink } from "@trpc/client";
import type { inferRouterInputs, inferRouterOutputs } from "@trpc/server";
import type { AppRouter } from "../../../src/server/trpc.ts";

export type Inputs = inferRouterInputs<AppRouter>;
export type Outputs = inferRouterOutputs<AppRouter>;

/** Longer questions do not fit into an address and are posted. */
const LONGEST_ADDRESS = 1_500;
const url = "/trpc";

export const api = createTRPCClient<AppRouter>({
  links: [
    splitLink({
      condition: ({ type, input }) =>
        type === "query" && (JSON.stringify(input ?? null)?.length ?? 0) > LONGEST_ADDRESS,
      true: httpLink({ url, methodOverride: "POST" }),
      false: httpLink({ url }),
    }),
  ],
});
