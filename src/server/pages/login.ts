// Where authorization servers send people back to, and where they read who we are. Both need no sign-in: a
// state that only we can have made decides what an answer counts for.
import { type Context, Hono } from "hono";
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { visible } from "../../util/text/visible.ts";
import { refusePage } from "./console.ts";
import type { Doors } from "../doors.ts";
import { html, type Html, layout, pageHeaders } from "./html.ts";
import { isOwnOrigin } from "../http/origin.ts";
import { admit, requestIdOf, type WebEnv } from "../http/request.ts";

/** What an answer may consist of (RFC 6749, RFC 9207); anything else is not looked at. */
const FIELDS = ["state", "code", "iss", "error", "error_description"] as const;
const MAX_FIELD = 8_192;
const MAX_FORM_BYTES = 65_536;

export function createLoginPages(doors: Doors): Hono<WebEnv> {
  const app = new Hono<WebEnv>();
  app.onError((cause, c) => refusePage(c, doors, cause));
  app.get("/oauth/client.json", (c) => {
    const document = doors.logins.document();
    if (document === null)
      throw new AppError(
        "NOT_FOUND",
        "unknown",
        "This server has no public address, so it does not publish who it is",
      );
    return c.json(document, 200, { "Cache-Control": "public, max-age=3600" });
  });
  app.get("/oauth/callback", async (c) => {
    const answer = fieldsOf(new URL(c.req.url).searchParams);
    return answered(c, doors, answer, await signedIn(c, doors), false);
  });
  // The page below asks for confirmation without a sign-in; a page of another site cannot answer it.
  app.post("/oauth/callback", async (c) => {
    const origin = c.req.header("origin");
    const site = c.req.header("sec-fetch-site");
    const isOwn = origin !== undefined && isOwnOrigin(doors.settings, origin, c.req.header("host"));
    if (!isOwn || (site !== undefined && site !== "same-origin"))
      throw new AppError("FORBIDDEN", "bad_origin", "A login is confirmed on our own page only");
    if (!(Number(c.req.header("content-length") ?? Number.NaN) <= MAX_FORM_BYTES))
      throw new AppError(
        "PAYLOAD_TOO_LARGE",
        "body_too_large",
        `The form is larger than ${MAX_FORM_BYTES} bytes`,
      );
    const answer = fieldsOf(new URLSearchParams(await c.req.text()));
    return answered(c, doors, answer, await signedIn(c, doors), true);
  });
  return app;
}

async function answered(
  c: Context<WebEnv>,
  doors: Doors,
  answer: URLSearchParams,
  by: Caller | null,
  confirmed: boolean,
): Promise<Response> {
  const result = await doors.logins.answer(answer, by, confirmed);
  const body = result.kind === "done" ? done(result) : confirm(result, answer);
  // The address contains the code: it is never passed on.
  return c.body(layout("Ostiary", body), 200, {
    ...pageHeaders(),
    "Referrer-Policy": result.kind === "done" ? "no-referrer" : "same-origin",
    "Request-Id": requestIdOf(c, doors),
  });
}

/** Nobody, where no session came along: a browser comes here from elsewhere. */
async function signedIn(c: Context<WebEnv>, doors: Doors): Promise<Caller | null> {
  if (c.req.header("cookie") === undefined && c.req.header("authorization") === undefined)
    return null;
  try {
    return await admit(doors, c, "GET");
  } catch (cause) {
    if (cause instanceof AppError && cause.code === "UNAUTHORIZED") return null;
    throw cause;
  }
}

function fieldsOf(given: URLSearchParams): URLSearchParams {
  const kept = new URLSearchParams();
  for (const name of FIELDS) {
    const values = given.getAll(name);
    // Of two values it would be unclear which one counts.
    if (values.length > 1 || (values[0]?.length ?? 0) > MAX_FIELD)
      throw new AppError(
        "BAD_REQUEST",
        "invalid_input",
        `${name}: expected it once, at most ${MAX_FIELD} characters`,
      );
    if (values[0] !== undefined) kept.set(name, values[0]);
  }
  return kept;
}

const done = ({
  server,
  issuer,
}: {
  readonly server: string;
  readonly issuer: string;
}): Html => html`
  <h1>Logged in</h1>
  <p>
    Ostiary can now reach <strong>${server}</strong> with what ${visible(issuer)} gave it. You can
    close this window.
  </p>
`;

const confirm = (
  login: {
    readonly server: string;
    readonly userId: string;
    readonly issuer: string;
    readonly everybody: boolean;
  },
  answer: URLSearchParams,
): Html => html`
  <h1>Is this your login?</h1>
  <p>
    <strong>${visible(login.userId)}</strong> began a login at the server
    <strong>${login.server}</strong>. If you continue,
    ${login.everybody ? "all users who may use that server here" : html`<strong>${visible(login.userId)}</strong>`}
    will reach it with the account you have just used at ${visible(login.issuer)}.
  </p>
  <p>
    Continue only if you are ${visible(login.userId)} and began it yourself. Otherwise close this
    window: nothing has happened yet.
  </p>
  <form method="post" action="/oauth/callback">
    ${[...answer].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}<button>
      It is mine: finish the login
    </button>
  </form>
`;
