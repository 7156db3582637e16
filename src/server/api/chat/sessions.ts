// Sessions of the caller: opened, listed, searched, exported, ended.
import { z } from "zod";
import type { JsonObject } from "../../../contract/call.ts";
import { downloadEndpoint, endpoint, fieldFault } from "../endpoint.ts";
import { chosenId, jsonObject } from "../shapes.ts";
import { given } from "../users.ts";
import { messageShape, messageView, sessionShape, sessionView } from "./shapes.ts";

const handle = z.string().min(1).max(128);
const title = z.string().trim().min(1).max(200);
const idleSeconds = z
  .int()
  .min(60)
  .max(2_592_000)
  .describe("Default: server.sessionTimeoutSeconds");
const MAX_PREFERENCES = 16_384;

const preferences = jsonObject.refine(
  (value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_PREFERENCES,
  `expected at most ${MAX_PREFERENCES} bytes`,
);

export const createSession = endpoint({
  name: "sessions.createSession",
  method: "POST",
  path: "/sessions",
  access: "caller",
  summary: "Open a session: you, a capsule and a persona; it allows what all of them allow",
  statuses: [201],
  input: z.strictObject({
    capsuleId: chosenId.optional().describe("Default: the caller's"),
    personaId: chosenId.optional(),
    role: z.string().min(1).max(64).optional().describe("One of your roles: only this one counts"),
    title: title.optional(),
    preferences: preferences.optional(),
    idleSeconds: idleSeconds.optional(),
  }),
  output: sessionShape,
  async run(input, { caller, doors, reply }) {
    const row = await doors.chat.createSession(caller, given(input) as JsonObject);
    reply.headers["Location"] = `/api/v1/sessions/${row.id}`;
    return sessionView(row);
  },
});

export const listSessions = endpoint({
  name: "sessions.listSessions",
  method: "GET",
  path: "/sessions",
  access: "caller",
  summary: "Your sessions, last used first",
  input: z.strictObject({
    search: z.string().max(200).default("").describe("Part of the title or of a message"),
    includeEnded: z.boolean().default(false),
    limit: z.int().min(1).max(100).default(50),
    after: z.string().min(1).max(256).optional().describe("`next` of the page before"),
  }),
  output: z.object({ items: z.array(sessionShape), next: z.string().nullable() }),
  async run({ search, includeEnded, limit, after }, { caller, doors }) {
    const before = after === undefined ? undefined : cursorOf(after);
    const rows = await doors.chat.listSessions(
      caller,
      { search, includeEnded },
      { limit: limit + 1, ...(before ? { before } : {}) },
    );
    const items = rows.slice(0, limit);
    const last = rows.length > limit ? items.at(-1) : undefined;
    return {
      items: items.map(sessionView),
      next: last ? `${last.lastSeenAt}.${last.id}` : null,
    };
  },
});

function cursorOf(text: string): { lastSeenAt: number; id: string } {
  const [, at, id] = /^(\d{1,15})\.(.+)$/.exec(text) ?? [];
  if (at === undefined || id === undefined) throw fieldFault("/after", "expected `next` of a page");
  return { lastSeenAt: Number(at), id };
}

export const getSession = endpoint({
  name: "sessions.getSession",
  method: "GET",
  path: "/sessions/{id}",
  access: "caller",
  summary: "One of your sessions",
  input: z.strictObject({ id: handle }),
  output: sessionShape,
  run: async ({ id }, { caller, doors }) => sessionView(await doors.chat.getSession(caller, id)),
});

export const updateSession = endpoint({
  name: "sessions.updateSession",
  method: "PATCH",
  path: "/sessions/{id}",
  access: "caller",
  summary: "Rename a session, change its preferences, or go to another branch",
  input: z.strictObject({
    id: handle,
    title: title.optional(),
    preferences: preferences.optional(),
    idleSeconds: idleSeconds.optional(),
    headId: handle.optional().describe("The message to continue from"),
  }),
  output: sessionShape,
  run: async ({ id, ...change }, { caller, doors }) =>
    sessionView(await doors.chat.updateSession(caller, id, given(change) as JsonObject)),
});

export const reopenSession = endpoint({
  name: "sessions.reopenSession",
  method: "POST",
  path: "/sessions/{id}/reopen",
  access: "caller",
  summary: "Open a session again that ended or was idle for too long",
  input: z.strictObject({ id: handle }),
  output: sessionShape,
  run: async ({ id }, { caller, doors }) => sessionView(await doors.chat.reopenSession(caller, id)),
});

export const endSession = endpoint({
  name: "sessions.endSession",
  method: "POST",
  path: "/sessions/{id}/end",
  access: "caller",
  summary: "End a session; its conversation stays",
  input: z.strictObject({ id: handle }),
  output: sessionShape,
  run: async ({ id }, { caller, doors }) => sessionView(await doors.chat.endSession(caller, id)),
});

export const removeSession = endpoint({
  name: "sessions.removeSession",
  method: "DELETE",
  path: "/sessions/{id}",
  access: "caller",
  summary: "Remove a session with its conversation; the ledger keeps what it recorded",
  input: z.strictObject({ id: handle }),
  output: z.object({ removed: z.literal(true) }),
  async run({ id }, { caller, doors }) {
    await doors.chat.removeSession(caller, id);
    return { removed: true as const };
  },
});

export const listMessages = endpoint({
  name: "sessions.listMessages",
  method: "GET",
  path: "/sessions/{id}/messages",
  access: "caller",
  summary: "The conversation, oldest first",
  input: z.strictObject({
    id: handle,
    branches: z.boolean().default(false).describe("Every branch, not only the one in use"),
  }),
  output: z.object({ items: z.array(messageShape) }),
  run: async ({ id, branches }, { caller, doors }) => ({
    items: (await doors.chat.messages(caller, id, branches)).map(messageView),
  }),
});

export const searchMessages = endpoint({
  name: "sessions.searchMessages",
  method: "GET",
  path: "/messages",
  access: "caller",
  summary: "Messages of your sessions that hold these words, newest first",
  input: z.strictObject({
    search: z.string().min(1).max(200),
    limit: z.int().min(1).max(100).default(20),
  }),
  output: z.object({
    items: z.array(messageShape.extend({ title: z.string().describe("Of the session") })),
  }),
  run: async ({ search, limit }, { caller, doors }) => ({
    items: (await doors.chat.search(caller, search, limit)).map((row) => ({
      ...messageView(row),
      title: row.title,
    })),
  }),
});

export const exportSession = downloadEndpoint({
  name: "sessions.exportSession",
  method: "GET",
  path: "/sessions/{id}/export",
  access: "caller",
  contentType: "text/markdown",
  summary: "The conversation as a file: markdown, or JSON with every branch",
  input: z.strictObject({ id: handle, format: z.enum(["markdown", "json"]).default("markdown") }),
  async download({ id, format }, { caller, doors }) {
    const session = await doors.chat.getSession(caller, id);
    const rows = await doors.chat.messages(caller, id, format === "json");
    const text =
      format === "json"
        ? JSON.stringify(
            { session: sessionView(session), messages: rows.map(messageView) },
            null,
            2,
          )
        : [
            `# ${session.title || session.id}`,
            ...rows.map(
              ({ role, text: content }) => `**${role === "user" ? "You" : "Agent"}:** ${content}`,
            ),
          ].join("\n\n");
    return {
      headers: {
        "Content-Type": format === "json" ? "application/json" : "text/markdown; charset=utf-8",
        "Content-Disposition": `attachment; filename="${id}.${format === "json" ? "json" : "md"}"`,
      },
      body: oneChunk(`${text}\n`),
    };
  },
});

async function* oneChunk(text: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(text));
}
