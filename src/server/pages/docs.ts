// /openapi.json, /docs (Scalar, served by us) and /docs/errors (the table behind every code). All need a credential.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { AppError, CODES } from "../../contract/errors.ts";
import { refusePage } from "./console.ts";
import type { Doors } from "../doors.ts";
import { DOCS_POLICY, document, html, layout, pageHeaders, table } from "./html.ts";
import { openapiDocument } from "../openapi.ts";
import { admit, requestIdOf, type WebEnv } from "../http/request.ts";

const SCRIPT = "scalar.js";

export function createDocs(doors: Doors): Hono<WebEnv> {
  const app = new Hono<WebEnv>();
  let script: Promise<Buffer> | null = null;
  app.onError((cause, c) => refusePage(c, doors, cause));
  const signedIn = createMiddleware<WebEnv>(async (c, next) => {
    requestIdOf(c, doors);
    await admit(doors, c);
    await next();
  });
  // Made once for what it is made of: the schemas of all endpoints take their time.
  let made = { of: "", bytes: new Uint8Array() };
  const openapi = (): Uint8Array<ArrayBuffer> => {
    const of = `${doors.settings.version} ${doors.settings.baseUrl}`;
    if (made.of !== of) {
      const bytes = new TextEncoder().encode(JSON.stringify(openapiDocument(doors.settings)));
      made = { of, bytes };
    }
    return made.bytes;
  };
  app.get("/openapi.json", signedIn, (c) =>
    c.body(openapi(), 200, { "Content-Type": "application/json", "Cache-Control": "no-store" }),
  );
  app.get("/docs", signedIn, (c) => c.body(REFERENCE, 200, pageHeaders(DOCS_POLICY)));
  app.get("/docs/errors", signedIn, (c) => c.body(errorPage(), 200, pageHeaders()));
  app.get(`/docs/${SCRIPT}`, signedIn, async (c) => {
    script ??= loadScript();
    const bytes = await script.catch((cause: unknown) => {
      script = null;
      throw cause;
    });
    return c.body(new Uint8Array(bytes), 200, {
      "Content-Type": "text/javascript; charset=utf-8",
      "Cache-Control": "private, max-age=3600",
      "X-Content-Type-Options": "nosniff",
    });
  });
  return app;
}

/** Nothing from outside: no fonts, no proxy, no telemetry. */
const SETTINGS = JSON.stringify({
  url: "/openapi.json",
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  proxyUrl: "",
  mcp: { disabled: true },
  agent: { disabled: true },
  showDeveloperTools: "never",
});

const REFERENCE = document(
  "Ostiary API",
  html``,
  html`<script
      id="api-reference"
      data-url="/openapi.json"
      data-configuration="${SETTINGS}"
    ></script>
    <script src="/docs/${SCRIPT}"></script>`,
);

/** Beside the bundle in the built package, else in node_modules. */
function loadScript(): Promise<Buffer> {
  const beside = join(dirname(fileURLToPath(import.meta.url)), "assets", SCRIPT);
  if (existsSync(beside)) return readFile(beside);
  try {
    const entry = createRequire(import.meta.url).resolve("@scalar/api-reference");
    return readFile(join(packageDir(entry), "dist", "browser", "standalone.js"));
  } catch (cause) {
    throw new AppError("NOT_FOUND", "unknown", "The API reference is not part of this build", {
      remedy: "use /openapi.json",
      cause,
    });
  }
}

/** The package's folder, from any file inside its dist. */
function packageDir(file: string): string {
  const at = file.lastIndexOf(join("api-reference", "dist"));
  return file.slice(0, at + "api-reference".length);
}

function errorPage(): string {
  const rows = Object.entries(CODES).map(([code, row]) => ({
    id: code,
    cells: [
      html`<code class="whole">${code}</code>`,
      row.http,
      row.title,
      row.reasons.join(", "),
      row.retryable ? "yes" : "no",
      row.exit,
    ],
  }));
  const heads = ["code", "HTTP", "meaning", "reasons", "repeat later?", "exit code"];
  return layout(
    "Ostiary error codes",
    html`
      <p><a href="/">Ostiary</a></p>
      <h1>Error codes</h1>
      <p>
        <code>code</code> is one of these, <code>reason</code> says why, <code>remedy</code> what to
        do; the same words on every surface.
      </p>
      ${table(heads, rows)}
    `,
  );
}
