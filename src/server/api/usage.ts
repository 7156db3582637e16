// What key, user and tenant have used of their budgets, and what each plan includes.
import { z } from "zod";
import { PLANS } from "../../contract/call.ts";
import { OWNERS } from "../../governance/limits/owners.ts";
import { endpoint } from "./endpoint.ts";
import { iso, time } from "./shapes.ts";

const limit = z.number().nullable().describe("null: no limit");

export const getUsage = endpoint({
  name: "usage.getUsage",
  method: "GET",
  path: "/usage",
  access: "caller",
  evenWhenUsedUp: true,
  summary:
    "What the caller's key, user and tenant have used of their budgets in a calendar month (UTC)",
  input: z.strictObject({
    period: z
      .string()
      .regex(/^\d{4}-(0[1-9]|1[0-2])$/, "expected a month, e.g. 2026-11")
      .optional()
      .describe("Default: the present month"),
  }),
  output: z.object({
    tenantId: z.string(),
    plan: z.enum(PLANS).nullable().describe("The caller's own, else the tenant's"),
    period: z.string(),
    resetsAt: time,
    items: z.array(
      z.object({
        owner: z
          .enum(OWNERS)
          .describe("Key and user are listed where they have a plan of their own"),
        ownerId: z.string(),
        plan: z.enum(PLANS).nullable(),
        metric: z.string(),
        used: z.number(),
        reserved: z.number().describe("Of calls that have not started, or wait for a person"),
        limit,
        left: limit,
      }),
    ),
  }),
  async run({ period }, { caller, doors }) {
    const rows = await doors.budgets.usage(caller, period);
    return {
      tenantId: caller.tenantId,
      plan: caller.plan,
      period: rows[0]?.period ?? "",
      resetsAt: iso(rows[0]?.resetsAt ?? 0),
      items: rows.map(({ owner, metric, used, reserved, limit: most }) => ({
        owner: owner.kind,
        ownerId: owner.id,
        plan: owner.plan,
        metric,
        used,
        reserved,
        limit: most,
        left: most === null ? null : Math.max(0, most - used - reserved),
      })),
    };
  },
});

export const listPlans = endpoint({
  name: "usage.listPlans",
  method: "GET",
  path: "/plans",
  access: "caller",
  evenWhenUsedUp: true,
  summary: "Calls per minute and monthly budgets of each plan",
  input: z.strictObject({}),
  output: z.object({
    items: z.array(
      z.object({
        plan: z.enum(PLANS).nullable().describe("null: a caller without a plan"),
        callsPerMinute: limit,
        budgets: z.record(z.string(), limit),
      }),
    ),
  }),
  run: (_input, { doors }) => ({
    items: doors.budgets
      .plans()
      .map(({ budgets, ...plan }) => ({ ...plan, budgets: { ...budgets } })),
  }),
});
