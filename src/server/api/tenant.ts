// The caller's tenant and its plan. Administrators only.
import { z } from "zod";
import { PLANS } from "../../contract/call.ts";
import { endpoint } from "./endpoint.ts";

const plan = z.enum(PLANS).nullable();
const tenant = z.object({
  id: z.string(),
  name: z.string(),
  plan: plan.describe("Its limits are counted over all users of the tenant together; null: none"),
});

export const getTenant = endpoint({
  name: "tenant.getTenant",
  method: "GET",
  path: "/tenant",
  access: "admin",
  evenWhenUsedUp: true,
  summary: "The caller's tenant and its plan",
  input: z.strictObject({}),
  output: tenant,
  run: (_input, { caller, doors }) => doors.directory.getTenant(caller),
});

export const updateTenant = endpoint({
  name: "tenant.updateTenant",
  method: "PATCH",
  path: "/tenant",
  access: "admin",
  evenWhenUsedUp: true,
  summary: "Set the plan of the caller's tenant",
  input: z.strictObject({ plan }),
  output: tenant,
  run: ({ plan: chosen }, { caller, doors }) =>
    doors.directory.updateTenant(caller, { plan: chosen }),
});
