// The console's door: sign-in by one-time link, a first page, why a call was decided as it was, sign-out.
import { type Context, Hono } from "hono";
import type { Caller, Verdict } from "../../contract/call.ts";
import { AppError, CODES } from "../../contract/errors.ts";
import type { ExecutionRecord } from "../../storage/store/store.ts";
import { noticeOf } from "../api/approvals.ts";
import { executionView } from "../api/record.ts";
import { executionNotFound, iso } from "../api/shapes.ts";
import type { Doors } from "../doors.ts";
import { html, type Html, layout, NOTHING, pageHeaders, stylesheet, table } from "./html.ts";
import { isHttps } from "../http/origin.ts";
import { failureOf, faultHeaders } from "../http/problem.ts";
import {
  admit,
  assertOwnPage,
  ipOf,
  identifyCaller,
  readForm,
  refuse,
  requestIdOf,
  type WebEnv,
} from "../http/request.ts";

const COOKIE = "ostiary_session";
const RECENT = 10;
const WAITING = 50;
const MAX_SIGN_IN_BYTES = 4_096;

export function createConsole(doors: Doors): Hono<WebEnv> {
  const app = new Hono<WebEnv>();
  app.onError((cause, c) => refusePage(c, doors, cause));
  app.get("/", async (c) => {
    const token = c.req.query("t");
    // A link checker that asks with HEAD must not use the link up.
    if (token !== undefined && c.req.method === "GET") return signIn(c, doors, token, "/");
    return home(c, doors, await signedIn(c, doors));
  });
  app.get("/style.css", (c) =>
    c.body(stylesheet, 200, {
      "Content-Type": "text/css; charset=utf-8",
      "X-Content-Type-Options": "nosniff",
    }),
  );
  app.post("/sign-in", (c) => signInWithKey(c, doors));
  app.get("/x/:id", async (c) => explained(c, doors, await signedIn(c, doors)));
  app.post("/logout", async (c) => {
    await admit(doors, c, "POST");
    await doors.identity.signOut(c.req.header("cookie"));
    c.header("Set-Cookie", `${cookieName(doors)}=; ${cookieFlags(doors)}; Max-Age=0`);
    return c.redirect("/", 303);
  });
  return app;
}

const signedIn = (c: Context<WebEnv>, doors: Doors): Promise<Caller> => admit(doors, c, "GET");

/** For people who have a key and not the server's machine: the key becomes a session that ends with it. */
async function signInWithKey(c: Context<WebEnv>, doors: Doors): Promise<Response> {
  const isEmpty = c.req.header("content-length") === "0";
  const fields = isEmpty ? new URLSearchParams() : await readForm(c, MAX_SIGN_IN_BYTES);
  const next = ownPath(fields.get("next") ?? "/");
  c.set("next", next);
  const key = (fields.get("key") ?? "").trim();
  if (key === "")
    throw new AppError("UNAUTHORIZED", "no_credentials", "Enter the key to sign in with");
  assertOwnPage(doors, c);
  const caller = await identifyCaller(
    doors,
    { authorization: `Bearer ${key}`, cookie: undefined },
    ipOf(c),
  );
  const { token } = await doors.identity.createLoginToken(caller);
  return signIn(c, doors, token, next);
}

/** A page of ours, else the first one. */
function ownPath(path: string): string {
  return /^\/(?![/\\])[\w\-./]{0,200}$/.test(path) ? path : "/";
}

async function signIn(
  c: Context<WebEnv>,
  doors: Doors,
  token: string,
  next: string,
): Promise<Response> {
  const session = await doors.identity.redeemLoginToken(token);
  if (!session) {
    throw new AppError(
      "UNAUTHORIZED",
      "bad_credentials",
      "This sign-in link was used before or has run out",
      { remedy: "make a new one: ostiary open" },
    );
  }
  const cookie = `${cookieName(doors)}=${session.cookie}; ${cookieFlags(doors)}; Max-Age=${session.maxAgeSeconds}`;
  c.header("Set-Cookie", cookie);
  c.header("Referrer-Policy", "no-referrer");
  c.header("Cache-Control", "no-store");
  c.header("Request-Id", requestIdOf(c, doors));
  return c.redirect(next, 303);
}

const cookieName = ({ settings }: Doors): string =>
  isHttps(settings) ? `__Host-${COOKIE}` : COOKIE;
const cookieFlags = (doors: Doors): string =>
  `Path=/; HttpOnly; SameSite=Lax${isHttps(doors.settings) ? "; Secure" : ""}`;

async function home(c: Context<WebEnv>, doors: Doors, caller: Caller): Promise<Response> {
  const [waiting, recent] = await Promise.all([waitingFor(doors, caller), lastOf(doors, caller)]);
  const { baseUrl, version } = doors.settings;
  const capsule = caller.capsuleId ?? "none";
  return page(
    c,
    doors,
    "Ostiary",
    html`
      <h1>Ostiary</h1>
      <p>
        You are <strong>${caller.userId}</strong> (${caller.role}, level ${caller.level}, capsule
        ${capsule}) of tenant ${caller.tenantId}.
      </p>
      <form method="post" action="/logout"><button>Sign out</button></form>
      ${waiting}
      <ul>
        <li>
          <a href="/docs">API reference</a>, <a href="/openapi.json">OpenAPI document</a>,
          <a href="/docs/errors">error codes</a>
        </li>
        <li>MCP: <code>${baseUrl}/mcp</code></li>
        <li>Version ${version}</li>
      </ul>
      <h2>Last executions</h2>
      ${recent}
    `,
  );
}

/** What this person can decide now; nothing for everybody else. */
async function waitingFor(doors: Doors, caller: Caller): Promise<Html> {
  const { items } = await doors.approvals.list(caller, { state: "pending", limit: WAITING });
  const rows = items
    .filter(({ mayDecide }) => mayDecide)
    .map((a) => ({
      cells: [
        html`<a href="/a/${a.id}"><code>${a.id}</code></a>`,
        a.requester,
        a.toolName,
        iso(a.createdAt),
        iso(a.expiresAt),
      ],
    }));
  if (rows.length === 0) return NOTHING;
  const heads = ["approval", "asked by", "tool", "asked at", "runs out at"];
  return html`<h2>Waiting for your decision</h2>
    ${table(heads, rows)}`;
}

async function lastOf(doors: Doors, caller: Caller): Promise<Html> {
  // Administrators want to know what their agents do; what they did themselves is among it.
  const whose = caller.role === "admin" ? { userId: "*" } : {};
  const { executions } = await doors.history.list(caller, { limit: RECENT, ...whose });
  if (executions.length === 0)
    return html`<p>None yet. Try <code>ostiary call system/echo text=hello</code></p>`;
  const rows = executions.map(executionView).map((e) => ({
    cells: [
      html`<a href="/x/${e.id}"><code>${e.id}</code></a>`,
      e.userId,
      e.toolName,
      e.status + (e.errorCode === undefined ? "" : ` (${e.errorCode})`),
      e.startTime,
      e.executionTime ?? "",
    ],
  }));
  return table(["id", "user", "tool", "status", "started", "ms"], rows);
}

/** Who agreed to it, or did not; nothing when nobody was asked. */
async function decidedBy(record: ExecutionRecord, caller: Caller, doors: Doors): Promise<Html> {
  const notice =
    record.approvalId === null ? null : await noticeOf(caller, record.approvalId, doors);
  if (notice === null) return html``;
  const link = html`<a href="/a/${notice.id}">approval</a>`;
  const people = notice.decidedBy?.join(" and ") ?? "";
  if (people === "") return html`<p>${link}: ${notice.state}</p>`;
  const verb = notice.state === "declined" ? "declined by" : "agreed to by";
  const self = notice.selfApproved ? ", self-approved" : "";
  return html`<p>${verb} <strong>${people}</strong> (${link}: ${notice.state}${self})</p>`;
}

async function explained(c: Context<WebEnv>, doors: Doors, caller: Caller): Promise<Response> {
  const id = c.req.param("id") ?? "";
  const record = await doors.history.read(caller, id);
  if (!record) throw executionNotFound(id);
  const { gates, ...facts } = executionView(record);
  const rows = ((gates ?? []) as readonly Verdict[]).map((gate) => ({
    cells: [gate.stage, gate.verdict, gate.reason ?? "", gate.message ?? "", gate.remedy ?? ""],
  }));
  const heads = ["stage", "verdict", "reason", "message", "remedy"];
  const { userId, keyId, capsuleId, entry } = record;
  const through = `key ${keyId ?? "none"}, capsule ${capsuleId ?? "none"}, over ${entry}`;
  return page(
    c,
    doors,
    id,
    html`
      <p><a href="/">Ostiary</a></p>
      <h1><code>${id}</code></h1>
      <p>asked by <strong>${userId}</strong> (${through})</p>
      <p>
        ${record.requestedName}:
        ${record.status}${record.error === null ? "" : ` – ${record.error}`}
      </p>
      ${await decidedBy(record, caller, doors)}
      ${
        rows.length === 0
          ? NOTHING
          : html`<h2>Gate</h2>
              ${table(heads, rows)}`
      }
      <h2>Record</h2>
      <pre>${JSON.stringify(facts, null, 2)}</pre>
    `,
  );
}

function page(c: Context<WebEnv>, doors: Doors, title: string, body: Html): Response {
  return c.body(layout(title, body), 200, {
    ...pageHeaders(),
    "Request-Id": requestIdOf(c, doors),
  });
}

/** Browsers get a page that says how to sign in; programs the problem document. */
export function refusePage(c: Context<WebEnv>, doors: Doors, cause: unknown): Response {
  if (!(c.req.header("accept") ?? "").includes("text/html")) return refuse(c, doors, cause);
  const failure = failureOf(cause);
  if (failure.code === "INTERNAL_SERVER_ERROR") return refuse(c, doors, cause);
  const isSignIn = failure.code === "UNAUTHORIZED";
  const help = isSignIn ? signInForm(c) : html`<p>${failure.remedy ?? ""}</p>`;
  const body = html`<h1>Ostiary</h1>
    <p>${sentence(failure.message)}</p>
    ${help}`;
  return new Response(layout("Ostiary", body), {
    status: CODES[failure.code].http,
    headers: {
      ...pageHeaders(),
      // A page with a form tells its own origin where it comes from; the address of the others may hold a code.
      ...(isSignIn ? {} : { "Referrer-Policy": "no-referrer" }),
      ...faultHeaders(cause),
      "Request-Id": requestIdOf(c, doors),
    },
  });
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function signInForm(c: Context<WebEnv>): Html {
  const next = ownPath(c.get("next") ?? c.req.path);
  return html`
    <h2>Sign in</h2>
    <form method="post" action="/sign-in">
      <input type="hidden" name="next" value="${next}" />
      <p>
        <label>
          Your key<br />
          <input type="password" name="key" autocomplete="current-password" required />
        </label>
      </p>
      <p><button>Sign in</button></p>
    </form>
    <p>
      It needs scope <code>tool:approve</code> or <code>*</code>; an administrator makes one with
      <code>ostiary keys create &lt;name&gt; --user &lt;id&gt; --scope tool:approve</code>.
    </p>
    <p>
      Or run <code>ostiary open</code> on the machine of the server: it prints a link that signs you
      in once. Programs send <code>Authorization: Bearer &lt;key&gt;</code>.
    </p>
  `;
}
