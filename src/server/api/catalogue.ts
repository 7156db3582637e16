// The catalogue as one caller would meet it: which tools run, which ask, which are refused, and to administrators which
// are hidden and why.
import { z } from "zod";
import { MODES, type Caller } from "../../contract/call.ts";
import { EFFECTS, RISKS } from "../../contract/tool.ts";
import type { CatalogueEntry } from "../../core/engine/engine.ts";
import type { SeriesPart } from "../../storage/store/store.ts";
import { type ApiContext, endpoint } from "./endpoint.ts";
import { adminOnly, HOW_TO_SHOW } from "./explain.ts";
import { successRate } from "./figures.ts";
import { chosenId, moment, toMs } from "./shapes.ts";

const DAY_MS = 86_400_000;

const input = z
  .strictObject({
    as: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .describe("A user's id, or a key's, as in explain; administrators only"),
    capsuleId: chosenId
      .optional()
      .describe(
        "As if the key belonged to this capsule; for others than administrators it narrows",
      ),
    sessionId: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .describe("As who acts in this chat session, with what was read in it from outside"),
    mode: z.enum(MODES).optional().describe("As if this were the operating mode"),
    at: moment.optional().describe("As if policies were asked then; administrators only"),
  })
  .refine((given) => given.capsuleId === undefined || given.sessionId === undefined, {
    path: ["capsuleId"],
    message: "a session has its capsule: give one of the two",
  });

const toolView = z.object({
  name: z.string(),
  displayName: z.string(),
  description: z.string(),
  category: z.string(),
  provider: z
    .enum(["native", "mcp", "external", "drafted"])
    .describe("external: an HTTP API; drafted: a program that was reviewed here"),
  server: z.string().nullable().describe("The upstream server or API that it belongs to"),
  risk: z.enum(RISKS),
  governanceClass: z.enum(EFFECTS),
  tags: z.array(z.string()),
  deprecated: z.object({ since: z.string(), replacement: z.string().optional() }).nullable(),
  state: z
    .enum(["runs", "asks", "barred", "hidden"])
    .describe(
      "Before any argument is looked at. asks: a person; barred: shown, and refused whatever the arguments are; hidden: does not exist for that caller, and is listed for administrators only",
    ),
  verdict: z
    .object({
      stage: z.string(),
      reason: z.string(),
      message: z.string(),
      rule: z.string().optional(),
      remedy: z.string().optional(),
    })
    .nullable()
    .describe("The stage that asks, refuses or hides; null where the tool runs"),
  lastDay: z
    .object({
      calls: z.int(),
      errorShare: z
        .number()
        .nullable()
        .describe("0 to 1; timeouts count, cancels by users do not; null before anything ended"),
      p95: z.number().nullable().describe("ms, at most 5 % off"),
    })
    .describe("Of the whole tenant, since the full hour 24 hours ago"),
});

export const viewCatalogue = endpoint({
  name: "tools.viewCatalogue",
  method: "POST",
  path: "/tools/view",
  access: "caller",
  summary: "All tools as a caller would meet them: run, ask, refused, hidden; nothing runs",
  input,
  output: z.object({
    who: z.object({
      userId: z.string(),
      keyId: z.string().nullable(),
      capsuleId: z.string().nullable(),
    }),
    tools: z.array(toolView),
    counts: z.object({ runs: z.int(), asks: z.int(), barred: z.int(), hidden: z.int().optional() }),
  }),
  async run(question, context) {
    const { doors, caller } = context;
    const isAdmin = caller.role === "admin";
    if (!isAdmin && (question.as !== undefined || question.at !== undefined)) throw adminOnly();
    const { asked, ...session } = await askedOf(question, context);
    const [entries, figures] = await Promise.all([
      doors.engine.catalogue(asked, {
        ...session,
        ...(question.mode === undefined ? {} : { mode: question.mode }),
        ...(question.at === undefined ? {} : { at: toMs(question.at) }),
      }),
      doors.history.toolsSince(caller, doors.now() - DAY_MS),
    ]);
    const shown = isAdmin ? entries : await listedOnly(entries, asked, context);
    const byName = new Map(figures.map((row) => [row.name, row]));
    const count = (state: CatalogueEntry["state"]) =>
      shown.filter((entry) => entry.state === state).length;
    return {
      who: { userId: asked.userId, keyId: asked.keyId, capsuleId: asked.capsuleId },
      tools: shown.map((entry) => view(entry, byName.get(entry.tool.name))),
      counts: {
        runs: count("runs"),
        asks: count("asks"),
        barred: count("barred"),
        ...(isAdmin ? { hidden: count("hidden") } : {}),
      },
    };
  },
});

async function askedOf(
  { as, capsuleId, sessionId }: z.output<typeof input>,
  { caller, doors }: ApiContext,
) {
  const whose = as === undefined ? caller : await doors.directory.callerFor(caller, as);
  if (sessionId !== undefined) {
    const { caller: asked, taint } = await doors.chat.callerIn(whose, sessionId);
    return { asked, taint, sessionId };
  }
  if (capsuleId === undefined) return { asked: whose };
  return { asked: await doors.directory.callerThrough(caller, whose, capsuleId) };
}

/** Another mode must not show names that the list does not have now. */
async function listedOnly(
  entries: readonly CatalogueEntry[],
  asked: Caller,
  { doors }: ApiContext,
): Promise<readonly CatalogueEntry[]> {
  const listed = new Set((await doors.engine.discover(asked)).map(({ name }) => name));
  return entries.filter(({ tool, state }) => state !== "hidden" && listed.has(tool.name));
}

function view(
  { tool, state, verdict }: CatalogueEntry,
  lastDay: SeriesPart | undefined,
): z.input<typeof toolView> {
  const { name, displayName, description, category, provider, risk, effects, tags } = tool;
  const rate = lastDay ? successRate(lastDay.figures) : null;
  return {
    name,
    displayName,
    description,
    category,
    provider,
    server: tool.route?.server ?? null,
    risk,
    governanceClass: effects,
    tags: [...tags],
    deprecated: tool.deprecated,
    state,
    verdict: verdict && verdictView(verdict, state),
    lastDay: {
      calls: lastDay?.figures.total ?? 0,
      errorShare: rate === null ? null : Math.round((1 - rate) * 10_000) / 10_000,
      p95: lastDay?.durations?.p95 ?? null,
    },
  };
}

function verdictView(
  { stage, reason, message, rule, remedy }: NonNullable<CatalogueEntry["verdict"]>,
  state: CatalogueEntry["state"],
) {
  const help = state === "hidden" ? (HOW_TO_SHOW[stage] ?? remedy) : remedy;
  return {
    stage,
    reason: reason ?? "unknown",
    message: message ?? "",
    ...(rule === undefined ? {} : { rule }),
    ...(help === undefined ? {} : { remedy: help }),
  };
}
