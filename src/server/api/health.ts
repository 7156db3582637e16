// How the server is: every part that a call needs, what runs and waits, what is broken; and the checks of the doctor.
import { z } from "zod";
import { MODES } from "../../contract/call.ts";
import { endpoint } from "./endpoint.ts";
import { iso, time } from "./shapes.ts";

const breaker = z
  .enum(["closed", "half_open", "open"])
  .describe("open: not called for a while, since it failed again and again");

const load = z.object({
  active: z.int().describe("Executions that run or wait on this server"),
  running: z.int(),
  waiting: z.int().describe("For a slot"),
  slots: z.int(),
  approvalsPending: z.int().describe("Calls that wait for a person, on all servers of the store"),
  outboxPending: z.int().nullable().describe("Events still to be sent on; null: there is no sink"),
  ledger: z.object({
    head: z.int().describe("Number of the newest event"),
    sinceCheckpoint: z.int().describe("Events that no checkpoint of this server covers yet"),
  }),
  servers: z.array(z.object({ name: z.string(), up: z.boolean(), breaker })),
  tools: z
    .array(z.object({ name: z.string(), breaker }))
    .describe("Native tools whose breaker is not closed"),
  sandbox: z.object({ ready: z.boolean(), reason: z.string().nullable() }),
});

export const getHealth = endpoint({
  name: "health.getHealth",
  method: "GET",
  path: "/health",
  access: "caller",
  evenWhenUsedUp: true,
  summary: "How the server is: its parts and its mode; to administrators also load and breakers",
  input: z.strictObject({}),
  output: z.object({
    ready: z.boolean(),
    version: z.string(),
    time,
    mode: z.enum(MODES),
    checks: z.array(
      z.object({
        name: z.string(),
        ok: z.boolean(),
        ms: z.number(),
        reason: z.string().optional(),
      }),
    ),
    load: load.optional().describe("For administrators; absent while the store does not answer"),
  }),
  async run(_input, { caller, doors }) {
    const { ready, checks } = await doors.health.check();
    const isAsked =
      caller.role === "admin" && checks.every(({ name, ok }) => name !== "store" || ok);
    const diagnosis = isAsked ? await doors.diagnose() : null;
    return {
      ready,
      version: doors.settings.version,
      time: iso(doors.now()),
      mode: doors.mode.current().mode,
      checks,
      ...(diagnosis && {
        load: {
          ...diagnosis,
          servers: diagnosis.servers.map((one) => ({ ...one })),
          tools: diagnosis.tools.map((one) => ({ ...one })),
        },
      }),
    };
  },
});

export const getDoctor = endpoint({
  name: "health.getDoctor",
  method: "GET",
  path: "/doctor",
  access: "admin",
  summary: "The checks of `ostiary doctor` on the machine of the server; nothing is changed",
  input: z.strictObject({}),
  output: z.object({
    ok: z.boolean().describe("No check has failed"),
    checks: z.array(
      z.object({
        name: z.string(),
        status: z
          .enum(["ok", "warning", "failed", "missing"])
          .describe("missing: an optional program, without which something does not work"),
        detail: z.string().describe("What was found, and what it means"),
        fix: z.string().optional().describe("One line that a person can run there"),
      }),
    ),
  }),
  async run(_input, { doors }) {
    const found = await doors.examine();
    return {
      ok: found.every(({ status }) => status !== "failed"),
      checks: found.map(({ name, status, detail, fix }) => ({
        name,
        status,
        detail,
        ...(fix === undefined ? {} : { fix }),
      })),
    };
  },
});
