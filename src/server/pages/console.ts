// The console's door: sign-in by one-time link or key, the pages of the web application with its files, sign-out.
import { type Context, Hono } from "hono";
import { AppError, CODES } from "../../contract/errors.ts";
import type { Doors } from "../doors.ts";
import { type ConsoleFiles, openConsoleFiles } from "./console-files.ts";
import { CONSOLE_POLICY, html, type Html, layout, pageHeaders, stylesheet } from "./html.ts";
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
const MAX_SIGN_IN_BYTES = 4_096;

/**
 * First segments of the pages of the web application (`console/src/app/router.tsx`). `a`, `e` and `x` are short links
 * to an approval, an execution and its explanation.
 */
export const CONSOLE_PAGES = [
  "executions",
  "approvals",
  "tools",
  "explain",
  "policies",
  "relationships",
  "audit",
  "figures",
  "servers",
  "work",
  "people",
  "chat",
  "settings",
  "a",
  "e",
  "x",
] as const;

export function createConsole(doors: Doors): Hono<WebEnv> {
  const app = new Hono<WebEnv>();
  const files = openConsoleFiles();
  app.onError((cause, c) => refusePage(c, doors, cause));
  app.get("/", async (c) => {
    const token = c.req.query("t");
    // A link checker that asks with HEAD must not use the link up.
    if (token !== undefined && c.req.method === "GET") return signIn(c, doors, token, "/");
    return consolePage(c, doors, files);
  });
  for (const name of CONSOLE_PAGES) {
    app.get(`/${name}`, (c) => consolePage(c, doors, files));
    app.get(`/${name}/*`, (c) => consolePage(c, doors, files));
  }
  // Scripts and styles hold nothing of the installation, so they need no credential.
  app.get("/console/*", (c) => files.respond(c.req.raw));
  app.get("/style.css", (c) =>
    c.body(stylesheet, 200, {
      "Content-Type": "text/css; charset=utf-8",
      "X-Content-Type-Options": "nosniff",
    }),
  );
  app.post("/sign-in", (c) => signInWithKey(c, doors));
  app.post("/logout", async (c) => {
    await admit(doors, c, "POST");
    await doors.identity.signOut(c.req.header("cookie"));
    c.header("Set-Cookie", `${cookieName(doors)}=; ${cookieFlags(doors)}; Max-Age=0`);
    return c.redirect("/", 303);
  });
  return app;
}

/** Every page of the console is the same document; its script shows what the path names. */
async function consolePage(
  c: Context<WebEnv>,
  doors: Doors,
  files: ConsoleFiles,
): Promise<Response> {
  // Filters of a page are in its address. Addresses of other pages may hold a code or a token.
  if (c.req.path !== "/") c.set("next", `${c.req.path}${new URL(c.req.url).search}`);
  await admit(doors, c, "GET");
  return c.body(await files.page(), 200, {
    ...pageHeaders(CONSOLE_POLICY),
    "Request-Id": requestIdOf(c, doors),
  });
}

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
  return /^\/(?![/\\])[\w\-./~%?&=:,+*@]{0,2000}$/.test(path) ? path : "/";
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
      // A page with a form sends a referrer to its own origin; the address of other pages may contain a code.
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
    <p class="note">
      It needs scope <code>tool:approve</code> or <code>*</code>; an administrator makes one with
      <code>ostiary keys create &lt;name&gt; --user &lt;id&gt; --scope tool:approve</code>.
    </p>
    <p class="note">
      Or run <code>ostiary open</code> on the machine of the server: it prints a link that signs you
      in once. Programs send <code>Authorization: Bearer &lt;key&gt;</code>.
    </p>
  `;
}
