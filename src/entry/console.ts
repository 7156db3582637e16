// The console's door: sign-in by one-time link, a first page, why a call was decided as it was, sign-out.
import { type Context, Hono } from "hono";
import type { Caller, Verdict } from "../call.ts";
import { AppError, CODES } from "../errors.ts";
import { executionView } from "./api/record.ts";
import { executionNotFound } from "./api/shapes.ts";
import type { Doors } from "./doors.ts";
import { html, type Html, layout, pageHeaders, stylesheet } from "./html.ts";
import { failureOf, faultHeaders } from "./problem.ts";
import { admit, refuse, requestIdOf, type WebEnv } from "./request.ts";

const COOKIE = "ostiary_session";
const RECENT = 10;

export function createConsole(doors: Doors): Hono<WebEnv> {
  const app = new Hono<WebEnv>();
  app.onError((cause, c) => refusePage(c, doors, cause));
  app.get("/", async (c) => {
    const token = c.req.query("t");
    // A link checker that asks with HEAD must not use the link up.
    if (token !== undefined && c.req.method === "GET") return signIn(c, doors, token);
    return home(c, doors, await signedIn(c, doors));
  });
  app.get("/style.css", (c) =>
    c.body(stylesheet, 200, {
      "Content-Type": "text/css; charset=utf-8",
      "X-Content-Type-Options": "nosniff",
    }),
  );
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

async function signIn(c: Context<WebEnv>, doors: Doors, token: string): Promise<Response> {
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
  return c.redirect("/", 303);
}

const isHttps = (doors: Doors): boolean => doors.settings.baseUrl.startsWith("https:");
const cookieName = (doors: Doors): string => (isHttps(doors) ? `__Host-${COOKIE}` : COOKIE);
const cookieFlags = (doors: Doors): string =>
  `Path=/; HttpOnly; SameSite=Lax${isHttps(doors) ? "; Secure" : ""}`;

async function home(c: Context<WebEnv>, doors: Doors, caller: Caller): Promise<Response> {
  const { executions } = await doors.history.list(caller, { limit: RECENT });
  const rows = executions.map(executionView).map(
    (e) =>
      html`<tr>
        <td>
          <a href="/x/${e.id}"><code>${e.id}</code></a>
        </td>
        <td>${e.toolName}</td>
        <td>${e.status}${e.errorCode === undefined ? "" : ` (${e.errorCode})`}</td>
        <td>${e.startTime}</td>
        <td>${e.executionTime ?? ""}</td>
      </tr>`,
  );
  const { baseUrl, version } = doors.settings;
  return page(
    c,
    doors,
    "Ostiary",
    html`
      <h1>Ostiary</h1>
      <p>
        You are <strong>${caller.userId}</strong> (${caller.role}, level ${caller.level}, capsule
        ${caller.capsuleId ?? "none"}) of tenant ${caller.tenantId}.
      </p>
      <form method="post" action="/logout"><button>Sign out</button></form>
      <ul>
        <li>
          <a href="/docs">API reference</a>, <a href="/openapi.json">OpenAPI document</a>,
          <a href="/docs/errors">error codes</a>
        </li>
        <li>MCP: <code>${baseUrl}/mcp</code></li>
        <li>Version ${version}</li>
      </ul>
      <h2>Last executions</h2>
      ${
        rows.length === 0
          ? html`<p>None yet. Try <code>ostiary call system/echo text=hello</code></p>`
          : html`<table>
              <thead>
                <tr>
                  <th>id</th>
                  <th>tool</th>
                  <th>status</th>
                  <th>started</th>
                  <th>ms</th>
                </tr>
              </thead>
              <tbody>
                ${rows}
              </tbody>
            </table>`
      }
    `,
  );
}

async function explained(c: Context<WebEnv>, doors: Doors, caller: Caller): Promise<Response> {
  const id = c.req.param("id") ?? "";
  const record = await doors.history.get(caller, id);
  if (!record) throw executionNotFound(id);
  const { gates, ...facts } = executionView(record);
  const verdicts = ((gates ?? []) as readonly Verdict[]).map(
    (gate) =>
      html`<tr>
        <td>${gate.stage}</td>
        <td>${gate.verdict}</td>
        <td>${gate.reason ?? ""}</td>
        <td>${gate.message ?? ""}</td>
        <td>${gate.remedy ?? ""}</td>
      </tr>`,
  );
  return page(
    c,
    doors,
    id,
    html`
      <p><a href="/">Ostiary</a></p>
      <h1><code>${id}</code></h1>
      <p>
        ${record.requestedName}:
        ${record.status}${record.error === null ? "" : ` – ${record.error}`}
      </p>
      ${
        verdicts.length === 0
          ? html``
          : html`<h2>Gate</h2>
              <table>
                <thead>
                  <tr>
                    <th>stage</th>
                    <th>verdict</th>
                    <th>reason</th>
                    <th>message</th>
                    <th>remedy</th>
                  </tr>
                </thead>
                <tbody>
                  ${verdicts}
                </tbody>
              </table>`
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
  const signInHint = html`<p>
    Run <code>ostiary open</code> on the machine of the server: it prints a link that signs you in
    once. Programs send <code>Authorization: Bearer &lt;key&gt;</code>.
  </p>`;
  const body = html`
    <h1>Ostiary</h1>
    <p>${failure.message}.</p>
    ${failure.code === "UNAUTHORIZED" ? signInHint : html`<p>${failure.remedy ?? ""}</p>`}
  `;
  return new Response(layout("Ostiary", body), {
    status: CODES[failure.code].http,
    headers: {
      ...pageHeaders(),
      "Referrer-Policy": "no-referrer",
      ...faultHeaders(cause),
      "Request-Id": requestIdOf(c, doors),
    },
  });
}
