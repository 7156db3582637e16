// What upstream servers and their tools look like on the wire, and the views that fill it.
import { z } from "zod";
import { CODES, type Fault } from "../../../contract/errors.ts";
import { UPSTREAM_METHODS } from "../../../storage/store/store.ts";
import { CATEGORIES, EFFECTS, RISK_WORDS, riskOf, RISKS } from "../../../contract/tool.ts";
import type {
  ServerToolView,
  ServerView,
  ServerCheck,
} from "../../../reach/upstream/admin/server-admin.ts";
import { fieldFaultShape, iso, isoOrNull, jsonObject, time } from "../shapes.ts";

export const serverName = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,31}$/, "expected [a-z][a-z0-9_-], at most 32 characters")
  .describe("Also the first part of its tools' names");
const texts = z
  .record(z.string().min(1).max(128), z.string().max(8_192))
  .describe("Values may hold ${credential:NAME}");
const word = z.string().max(4_096);
const pin = z.string().describe("SHA-256 over the definition");

const oauth = z.strictObject({
  grant: z.enum(["authorization_code", "client_credentials"]).optional(),
  clientId: word.optional(),
  clientSecret: word.optional().describe("Sealed unless it is a reference"),
  privateKey: z
    .string()
    .max(16_384)
    .optional()
    .describe("PKCS #8 in PEM; sealed unless it is a reference"),
  algorithm: word.optional(),
  issuer: word.optional(),
  scope: word.optional(),
});
const folder = z.strictObject({ path: word, access: z.enum(["ro", "rw"]) });
export const folders = z.array(folder).max(100);
const network = z.union([z.literal("none"), z.strictObject({ hosts: z.array(word).max(100) })]);
const definition = z.strictObject({
  method: z.enum(UPSTREAM_METHODS),
  name: z.string().max(256),
  title: z.string().nullable(),
  description: z.string(),
  inputSchema: jsonObject,
  outputSchema: jsonObject.nullable(),
  annotations: jsonObject.nullable(),
  operation: jsonObject.nullable(),
});

const stdio = {
  argv: z.array(word).min(1).max(256).describe("A program and its arguments; no shell reads them"),
  env: texts.describe("Its whole environment besides what the sandbox sets"),
  isolation: z.enum(["sandbox", "none"]),
  folders: folders.describe("Folders of the host it may have, at the same path"),
  network: network.describe("Hosts it may reach through the guard; * for any public one"),
  localSockets: z.boolean().describe("Unix sockets of its own, which a browser needs"),
};
const url = z.string().min(1).max(2_000).describe("http:// or https://");
const auth = z.enum(["headers", "oauth"]);
const operations = z.array(definition).max(1_000);

/** As it is given. */
export const transportInput = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("stdio"),
    ...z.object(stdio).partial().required({ argv: true }).shape,
    cwd: word.optional().describe("Relative paths of argv start here"),
  }),
  z.strictObject({
    kind: z.enum(["http", "sse"]),
    url,
    headers: texts.optional(),
    auth: auth.optional(),
    oauth: oauth.optional(),
  }),
  z.strictObject({ kind: z.literal("api"), url, headers: texts.optional(), operations }),
]);

const transport = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("stdio"), ...stdio }),
  z.object({ kind: z.enum(["http", "sse"]), url, headers: texts, auth, oauth: oauth.optional() }),
  z.object({
    kind: z.literal("api"),
    url,
    headers: texts,
    operations: z.int().describe("How many"),
  }),
]);

const limits = {
  timeoutMs: z
    .int()
    .min(1_000)
    .max(300_000)
    .describe("Of a call, where neither caller nor tool says another"),
  maxConcurrent: z.int().min(1).max(10_000).describe("Requests at once; more wait"),
  maxQueued: z.int().min(0).max(100_000).describe("How many may wait; more are refused"),
  recheckMs: z
    .int()
    .min(0)
    .max(3_600_000)
    .describe(
      "How old its definitions may be when a call is sent; 0: they are read before each call",
    ),
  breakerFailures: z.int().min(1).max(1_000).describe("So many failures in a row open the breaker"),
  breakerResetMs: z.int().min(100).max(3_600_000).describe("For so long"),
  maxResultBytes: z.int().min(1_024).max(104_857_600).describe("Larger answers are refused"),
  credentials: z
    .enum(["shared", "user"])
    .describe("user: each user stores a credential of their own"),
};
export const settingsInput = z.strictObject(limits).partial();

export const faultShape = z.object({
  code: z.enum(Object.keys(CODES) as [keyof typeof CODES]),
  reason: z.string(),
  message: z.string(),
  remedy: z.string().optional(),
  errors: z.array(fieldFaultShape).optional(),
  retryAfterSeconds: z.number().optional(),
});

const health = z.object({
  status: z.enum(["off", "connecting", "up", "down", "login_needed"]),
  reason: z.string().nullable().describe("What went wrong last, what is waited for"),
  era: z.enum(["modern", "legacy"]).nullable(),
  protocolVersion: z.string().nullable(),
  serverInfo: jsonObject.nullable().describe("What it says of itself; nothing relies on it"),
  breaker: z.enum(["closed", "half_open", "open"]),
  inFlight: z.int(),
  queued: z.int(),
  since: time,
  restarts: z.int(),
});

const count = z.int();
export const server = z.object({
  name: z.string(),
  tenantId: z.string(),
  description: z.string(),
  transport,
  settings: z.object(limits),
  enabled: z.boolean(),
  origin: z.enum(["api", "configuration"]).describe("configuration: changed in the settings alone"),
  createdBy: z.string(),
  createdAt: time,
  updatedAt: time,
  health: health.nullable(),
  tools: z.object({
    pending: count,
    approved: count,
    changed: count,
    removed: count,
    rejected: count,
    refused: count,
  }),
});

export const terms = z.object({
  category: z.enum(CATEGORIES),
  risk: z.enum(RISKS),
  effects: z.enum(EFFECTS),
  idempotent: z.boolean().describe("May be sent again when the connection broke"),
  openWorld: z.boolean(),
  cacheable: z.boolean().describe("The same arguments give the same answer for a while"),
});

export const riskInput = z.enum(RISK_WORDS).transform(riskOf);

export const serverTool = z.object({
  server: z.string(),
  name: z.string(),
  wireName: z.string(),
  method: z.enum(UPSTREAM_METHODS),
  upstreamName: z.string(),
  title: z.string().nullable(),
  description: z.string().describe("As offered now, hidden characters written out"),
  state: z.enum(["pending", "approved", "changed", "removed", "rejected", "refused"]),
  reason: z.string().nullable(),
  approvedPin: pin.nullable(),
  seenPin: pin,
  terms: terms.describe("Proposed from its description until it is approved"),
  findings: z.array(
    z.object({
      kind: z.string(),
      severity: z.enum(["info", "warning", "danger"]),
      path: z.string(),
      message: z.string(),
      excerpt: z.string(),
    }),
  ),
  firstSeenAt: time,
  seenAt: time,
  decidedBy: z.string().nullable(),
  decidedAt: time.nullable(),
});

export const tried = z.object({
  server,
  fault: faultShape.nullable().describe("Why it could not be reached or listed"),
  tools: z.array(serverTool),
  notes: z.array(z.string()),
});

export const details = serverTool.extend({
  text: z.string().describe("The whole definition, hidden characters written out"),
  definition,
  diff: z.array(z.string()).describe("Against the approved one"),
  proposed: terms,
  versions: z.array(
    z.object({
      pin,
      firstSeenAt: time,
      approvedAt: time.nullable(),
      approvedBy: z.string().nullable(),
      isApproved: z.boolean(),
      isOffered: z.boolean(),
    }),
  ),
  capsules: z.array(z.string()),
});

export function serverShown(view: ServerView): z.input<typeof server> {
  const { transport: reach, health: state, ...row } = view;
  return {
    ...row,
    transport:
      reach.kind === "stdio"
        ? {
            ...reach,
            argv: [...reach.argv],
            folders: [...reach.folders],
            network: reach.network === "none" ? "none" : { hosts: [...reach.network.hosts] },
          }
        : reach.kind === "api"
          ? { ...reach, operations: reach.operations.length }
          : reach,
    createdAt: iso(row.createdAt),
    updatedAt: iso(row.updatedAt),
    health:
      state === null
        ? null
        : {
            ...state,
            serverInfo: state.serverInfo && { ...state.serverInfo },
            since: iso(state.since),
          },
  };
}

export function toolShown({
  findings,
  firstSeenAt,
  seenAt,
  decidedAt,
  ...view
}: ServerToolView): z.input<typeof serverTool> {
  return {
    ...view,
    findings: [...findings],
    firstSeenAt: iso(firstSeenAt),
    seenAt: iso(seenAt),
    decidedAt: isoOrNull(decidedAt),
  };
}

export function triedShown(made: ServerCheck): z.input<typeof tried> {
  return {
    server: serverShown(made.server),
    fault: faultShown(made.fault),
    tools: made.tools.map(toolShown),
    notes: [...made.notes],
  };
}

export function faultShown(given: Fault | null): z.input<typeof faultShape> | null {
  if (given === null) return null;
  const { errors, ...rest } = given;
  return { ...rest, ...(errors ? { errors: errors.map((error) => ({ ...error })) } : {}) };
}
