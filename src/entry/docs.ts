// /openapi.json, /docs (Scalar, served by us) and /docs/errors (the table behind every code). All need a credential.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { AppError, CODES } from "../errors.ts";
import { refusePage } from "./console.ts";
import type { Doors } from "./doors.ts";
import { DOCS_POLICY, document, html, layout, pageHeaders } from "./html.ts";
import { openapiDocument } from "./openapi.ts";
import { admit, requestIdOf, type WebEnv } from "./request.ts";

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
  app.get("/openapi.json", signedIn, (c) =>
    c.json(openapiDocument(doors.settings), 200, { "Cache-Control": "no-store" }),
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
  const rows = Object.entries(CODES).map(
    ([code, row]) =>
      html`<tr id="${code}">
        <td><code>${code}</code></td>
        <td>${row.http}</td>
        <td>${row.title}</td>
        <td>${row.reasons.join(", ")}</td>
        <td>${row.retryable ? "yes" : "no"}</td>
        <td>${row.exit}</td>
      </tr>`,
  );
  return layout(
    "Ostiary error codes",
    html`
      <p><a href="/">Ostiary</a></p>
      <h1>Error codes</h1>
      <p>
        <code>code</code> is one of these, <code>reason</code> says why, <code>remedy</code> what to
        do; the same words on every surface.
      </p>
      <table>
        <thead>
          <tr>
            <th>code</th>
            <th>HTTP</th>
            <th>meaning</th>
            <th>reasons</th>
            <th>repeat later?</th>
            <th>exit code</th>
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    `,
  );
}
