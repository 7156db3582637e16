// What goes on after the right to it was taken: streams, calls, runs, sign-ins and questions.
import type { Attack, Case, Target } from "./attack.ts";
import {
  events,
  further,
  member,
  revoke,
  signIn,
  start,
  stream,
  within,
  type Member,
  type Stream,
} from "./callers.ts";

/** One second is promised; the rest is for a busy machine. */
const SOON_MS = 2_500;
const bearer = ({ key }: Member) => ({ authorization: `Bearer ${key}` });

const ends = async (what: Stream): Promise<string | null> => {
  if (what.status !== 200) return `it did not open: ${what.status}`;
  return (await within(SOON_MS, () => what.ended)) ? null : "the stream stayed open";
};

const streamed = (
  name: string,
  open: (target: Target, who: Member) => Promise<Stream>,
  take = revoke,
): Case => ({
  name,
  async run(target) {
    const who = await member(target);
    const opened = await open(target, who);
    await take(target, who);
    return ends(opened);
  },
});

/** A call that waits for a person's answer is a long one. */
const ASKS = ["agent/ask_user", { question: "Still there?", timeoutSeconds: 300 }] as const;
const isOver = async (target: Target, userId: string) => {
  const list = await target.api("GET", "/questions?state=pending");
  return !list.body.items.some((one: { userId: string }) => one.userId === userId);
};
const asking = (name: string, begin: (target: Target, who: Member) => Promise<unknown>): Case => ({
  name,
  async run(target) {
    const who = await member(target);
    await begin(target, who);
    if (!(await within(10_000, async () => !(await isOver(target, who.id)))))
      return "it never asked";
    await revoke(target, who);
    return (await within(SOON_MS, () => isOver(target, who.id))) ? null : "it went on asking";
  },
});

const signedIn = (
  name: string,
  end: (target: Target, cookie: string, key: Member) => Promise<unknown>,
): Case => ({
  name,
  async run(target) {
    const key = await further(target, "owner");
    const cookie = await signIn(target, key.key);
    const opened = await events(target, { cookie });
    await end(target, cookie, key);
    const who = await target.api("GET", "/whoami", { key: null, headers: { cookie } });
    return who.status === 401 ? ends(opened) : `the cookie still answers ${who.status}`;
  },
});

async function legacy(target: Target, who: Member): Promise<Stream> {
  const headers = {
    ...bearer(who),
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const opened = await fetch(`${target.url}/mcp`, {
    method: "POST",
    headers,
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "t", version: "1" },
      },
    }),
  });
  await opened.text();
  return stream(`${target.url}/mcp`, {
    headers: {
      ...bearer(who),
      accept: "text/event-stream",
      "mcp-protocol-version": "2025-06-18",
      "mcp-session-id": opened.headers.get("mcp-session-id") ?? "",
    },
  });
}

const attack: Attack = {
  item: "A6",
  title: "what outlives its right",
  alone: true,
  settings: { "rateLimit.enabled": "false" },
  cases: [
    streamed("the event stream of a revoked key", (t, who) => events(t, bearer(who))),
    streamed("the event stream, resumed from the start", (t, who) =>
      stream(`${t.url}/api/v1/events?after=0`, { headers: bearer(who) }),
    ),
    streamed("an MCP session's stream", legacy),
    streamed(
      "the event stream of a rotated key without overlap",
      (t, who) => events(t, bearer(who)),
      (t, who) => t.api("POST", `/keys/${who.keyId}/rotate`, { body: { overlapSeconds: 0 } }),
    ),
    asking("a call that nobody waits for", (t, who) => start(t, who, ...ASKS)),
    asking("a call within a call", (t, who) =>
      start(t, who, "system/call_tool", { name: ASKS[0], arguments: ASKS[1] }),
    ),
    asking("a step of a workflow run", async (t, who) => {
      await t.call(
        "workflow/create",
        { name: "w", steps: [{ id: "a", tool: ASKS[0], input: ASKS[1] }] },
        { key: who.key },
      );
      return start(t, who, "workflow/execute", { workflowId: "w" });
    }),
    {
      name: "a call that waits for a yes",
      async run(target) {
        const who = await member(target);
        const held = await start(target, who, "memory/clear", { namespace: "user" });
        await revoke(target, who);
        const late = await target.api(
          "POST",
          `/approvals/${String(held.body.approval?.id)}/approve`,
          { body: {} },
        );
        return late.status === 409 ? null : `the yes was answered ${late.status}`;
      },
    },
    signedIn("a sign-in whose key was revoked", (t, _cookie, key) => revoke(t, key)),
    signedIn("a sign-in that was signed out of", (t, cookie) =>
      fetch(`${t.url}/logout`, {
        method: "POST",
        headers: { cookie, origin: t.url },
        redirect: "manual",
      }),
    ),
    signedIn("a sign-in that somebody ended", async (t, cookie) => {
      const list = await t.api("GET", "/sign-ins", { key: null, headers: { cookie } });
      const mine = list.body.items.find((one: { current: boolean }) => one.current) as {
        id: string;
      };
      return t.api("DELETE", `/sign-ins/${mine.id}`);
    }),
    {
      name: "a link that is used after its key was revoked",
      async run(target) {
        const key = await further(target, "owner");
        const link = await target.api("POST", "/login-links", { key: key.key, body: {} });
        await revoke(target, key);
        const answer = await fetch(link.body.url as string, { redirect: "manual" });
        return answer.status === 401 ? null : `the link answered ${answer.status}`;
      },
    },
  ],
  control: {
    name: "others' streams and calls go on",
    async run(target) {
      const [who, other] = [await member(target), await member(target)];
      const opened = await events(target, bearer(other));
      await revoke(target, who);
      const echo = await target.call("system/echo", { text: "x" }, { key: other.key });
      if (echo.body.status !== "success") return JSON.stringify(echo.body).slice(0, 200);
      const heard = await within(5_000, () => opened.text.includes("tool.execution"));
      return heard && !opened.ended ? null : "the stream of somebody else ended or is silent";
    },
  },
};
export default attack;
