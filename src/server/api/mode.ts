// The operating mode: all users may read it, administrators switch it.
import { z } from "zod";
import { MODES, type Caller, type Mode } from "../../contract/call.ts";
import type { ModeState } from "../../governance/modes/mode.ts";
import { EFFECTS } from "../../contract/tool.ts";
import type { Doors } from "../doors.ts";
import { endpoint } from "./endpoint.ts";
import { iso, isoOrNull, time } from "./shapes.ts";

const mode = z.enum(MODES);
const tools = z.int().describe("How many tools");

const view = z.object({
  mode,
  description: z.string(),
  reason: z.string(),
  by: z.string().describe("A user, `sensor:<name>`, `timer` or `system`"),
  since: time,
  until: time.nullable().describe("Then it returns to `revertTo`; null: until it is changed"),
  revertTo: mode.nullable(),
  proposal: z
    .object({ mode, reason: z.string(), at: time })
    .nullable()
    .describe("A change that sensors ask for and a person must make"),
  unsaved: z
    .literal(true)
    .optional()
    .describe("It holds, but the store could not be written yet; that is tried again"),
  callsPerMinute: z.int().nullable().describe("Each caller's window in this mode; null: none"),
  throttle: z
    .int()
    .nullable()
    .describe(
      "What the caller itself is held to after too many refusals, in calls per minute; null: nothing",
    ),
  throttleReason: z.string().nullable().describe("Why the caller is throttled"),
  throttledUntil: time.nullable().describe("When that ends"),
  sensors: z
    .array(
      z.object({
        name: z.string(),
        value: z.number(),
        threshold: z.number(),
        action: z.enum(["off", "warn", "act"]),
        firing: z.boolean(),
      }),
    )
    .optional()
    .describe("For administrators"),
  rules: z
    .array(
      z.object({
        mode,
        description: z.string(),
        callsPerMinute: z.int().nullable(),
        classes: z.array(
          z.object({ class: z.enum(EFFECTS), run: tools, approval: tools, no: tools }),
        ),
      }),
    )
    .optional()
    .describe("For administrators: what the tools of each class may do in each mode"),
});

export const getMode = endpoint({
  name: "mode.getMode",
  method: "GET",
  path: "/mode",
  access: "caller",
  summary: "The operating mode: what it is, why, since when and until when",
  input: z.strictObject({}),
  output: view,
  run: (_input, { caller, doors }) => modeView(doors, caller, doors.mode.current()),
});

export const switchMode = endpoint({
  name: "mode.switchMode",
  method: "PUT",
  path: "/mode",
  access: "admin",
  summary: "Switch the operating mode, for good or for a while",
  input: z.strictObject({
    mode,
    reason: z
      .string()
      .trim()
      .min(1)
      .max(500)
      .describe("Why; it is recorded and shown to all users"),
    forSeconds: z
      .int()
      .min(60)
      .max(604_800)
      .optional()
      .describe("Then it returns by itself; absent: until it is changed"),
  }),
  output: view,
  async run({ mode: wanted, reason, forSeconds }, { caller, doors }) {
    const forMs = forSeconds === undefined ? {} : { forMs: forSeconds * 1000 };
    return modeView(
      doors,
      caller,
      await doors.mode.switch(caller, { mode: wanted, reason, ...forMs }),
    );
  },
});

function modeView(doors: Doors, caller: Caller, state: ModeState): z.input<typeof view> {
  const { mode: held, reason, by, since, until, revertTo, proposal, unsaved } = state;
  const throttle = doors.mode.throttleOf(caller);
  return {
    mode: held,
    description: doors.governance.describe(held),
    reason,
    by,
    since: iso(since),
    until: isoOrNull(until),
    revertTo,
    proposal: proposal && { ...proposal, at: iso(proposal.at) },
    ...(unsaved ? { unsaved } : {}),
    callsPerMinute: doors.governance.limits.ofMode(held),
    throttle: throttle?.callsPerMinute ?? null,
    throttleReason: throttle?.because ?? null,
    throttledUntil: isoOrNull(throttle?.until ?? null),
    ...(caller.role === "admin"
      ? {
          sensors: doors.mode.readings().map((each) => ({ ...each })),
          rules: MODES.map((each) => rulesIn(doors, each)),
        }
      : {}),
  };
}

function rulesIn({ governance, registry }: Doors, mode: Mode) {
  const classes = new Map(
    EFFECTS.map((name) => [name, { class: name, run: 0, approval: 0, no: 0 }]),
  );
  for (const tool of registry.all()) {
    const counts = classes.get(tool.effects);
    if (counts) counts[governance.modeRule(tool, mode).treatment]++;
  }
  return {
    mode,
    description: governance.describe(mode),
    callsPerMinute: governance.limits.ofMode(mode),
    classes: [...classes.values()],
  };
}
