// What is shipped: the bundle alone, with no node_modules anywhere near it.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build } from "esbuild";
import { publishedManifest } from "../../scripts/published-manifest.ts";
import { importFaults, REQUIRE_FAULTS } from "../../scripts/bundle-checks.ts";
import { BIN, runBin, startServer } from "../fixtures/bin.ts";

const ROOT = join(import.meta.dirname, "../..");
let folder: string;
let program: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ostiary-bundle-"));
  program = join(folder, "bin/ostiary.js");
  execFileSync(process.execPath, [join(ROOT, "scripts/build.ts"), join(folder, "dist")]);
  cpSync(BIN, program);
  cpSync(join(ROOT, "package.json"), join(folder, "package.json"));
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("it starts, runs a governed call over every part, serves its reference, and stops", async () => {
  const dataDir = join(folder, "data");
  const server = await startServer(["--data-dir", dataDir, "--port", "0"], { program });
  try {
    const called = await runBin(
      ["call", "system/echo", "text=bundled", "--data-dir", dataDir, "--json"],
      { program },
    );
    expect(called.json()).toMatchObject({ status: "success", result: { text: "bundled" } });
    const authorization = `Bearer ${readFileSync(join(dataDir, "admin.key"), "utf8").trim()}`;
    for (const path of ["/docs/scalar.js", "/openapi.json", "/metrics", "/readyz"])
      expect((await fetch(server.url + path, { headers: { authorization } })).status, path).toBe(
        200,
      );
    const hello = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "t", version: "1" },
      },
    };
    const spoken = await runBin(["mcp", "--data-dir", dataDir], {
      program,
      input: `${JSON.stringify(hello)}\n`,
    });
    expect(JSON.parse(spoken.stdout)).toMatchObject({
      result: { serverInfo: { name: "ostiary" } },
    });
  } finally {
    expect(await server.stop()).toBe(0);
  }
  // The sources read what the bundle wrote.
  const again = await startServer(["--data-dir", dataDir, "--port", "0"]);
  expect(await again.stop()).toBe(0);
}, 60_000);

test("clients of servers that were not chosen are chunks of their own, loaded when chosen", async () => {
  const chunks = readdirSync(join(folder, "dist")).filter((name) => name.endsWith(".js"));
  const text = new Map(
    chunks.map((name) => [name, readFileSync(join(folder, "dist", name), "utf8")]),
  );
  const holding = (mark: string) => chunks.filter((name) => text.get(name)?.includes(mark));
  /** Everything a start without these servers loads: static imports, followed from the chunk that composes the app. */
  const loaded = new Set(holding("server.started"));
  expect(loaded.size).toBeGreaterThan(0);
  for (const name of loaded)
    for (const [, other = ""] of text.get(name)?.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g) ?? [])
      loaded.add(other);
  for (const mark of [
    "MaxRetriesPerRequest",
    "authzed.api.v1",
    "SCRAM-SERVER-FINAL-MESSAGE",
    "PLT_KFK_PROTOCOL",
  ]) {
    const own = holding(mark);
    expect(own, mark).not.toEqual([]);
    for (const name of own) expect([mark, loaded.has(name)]).toEqual([mark, false]);
  }
  // Chosen, they are there: what fails is the connection, not the import.
  const nobody = "127.0.0.1:1";
  for (const [variable, value] of [
    ["OSTIARY_STATE", `redis://${nobody}`],
    ["OSTIARY_RELATIONS", `spicedb+insecure://:t@${nobody}`],
  ] as const) {
    const refused = await runBin(["serve", "--port", "0", "--data-dir", join(folder, variable)], {
      program,
      env: { [variable]: value },
    });
    expect(refused.code, refused.stderr).not.toBe(0);
    expect(refused.stderr).not.toMatch(/Cannot find|ERR_MODULE|is not a function|is not defined/);
  }
  // A sink that is down keeps nobody from starting: the doctor is who asks it.
  const doctor = await runBin(["doctor", "--data-dir", join(folder, "doctor")], {
    program,
    env: { OSTIARY_SINK: `kafka://${nobody}` },
  });
  expect(doctor.stdout).toContain("no Kafka broker answers (ECONNREFUSED)");
}, 60_000);

test("the package carries the governance files, and nothing to install or run", () => {
  const [packed] = JSON.parse(
    execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
      cwd: ROOT,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  ) as { files: { path: string }[] }[];
  const paths = packed?.files.map(({ path }) => path) ?? [];
  for (const file of [
    "tools.yaml",
    "modes.yaml",
    "plans.yaml",
    "schema.zed",
    "policies/tools.rego",
  ]) {
    expect(paths).toContain(`governance/${file}`);
    expect(readFileSync(join(folder, "dist/assets/governance", file), "utf8")).toBe(
      readFileSync(join(ROOT, "governance", file), "utf8"),
    );
  }
  const published = JSON.parse(
    publishedManifest(readFileSync(join(ROOT, "package.json"), "utf8")),
  ) as object;
  for (const field of ["dependencies", "optionalDependencies", "devDependencies", "scripts"])
    expect(published).not.toHaveProperty(field);
}, 60_000);

test("item 8: the build refuses imports that only work with node_modules beside them", () => {
  const input = (
    imports: { path: string; kind: "dynamic-import" | "require-call"; external?: true }[],
    format?: "cjs",
  ) => ({ bytes: 1, imports, ...(format ? { format } : {}) });
  const inputs = {
    "src/lazy.ts": input([{ path: "node_modules/old/index.js", kind: "dynamic-import" }]),
    "src/fine.ts": input([
      { path: "src/lazy.ts", kind: "dynamic-import" },
      { path: "node:fs", kind: "require-call", external: true },
    ]),
    "node_modules/old/index.js": input(
      [
        { path: "absent", kind: "require-call", external: true },
        { path: "pg-native", kind: "require-call", external: true },
      ],
      "cjs",
    ),
  };
  expect(importFaults({ inputs })).toEqual([
    expect.stringMatching(
      /^src\/lazy\.ts: import\("node_modules\/old\/index\.js"\) of a CommonJS package/,
    ),
    "node_modules/old/index.js: absent is neither bundled nor an optional package",
  ]);
});

test("item 8: a require that the bundler cannot follow fails the build", async () => {
  const stdin = { contents: "(function (load) { load('./impl'); })(require);", resolveDir: ROOT };
  const options = {
    stdin,
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    logLevel: "silent",
  } as const;
  await expect(build({ ...options, logOverride: REQUIRE_FAULTS })).rejects.toThrow(
    /Indirect calls to "require"/,
  );
});

test("help, configuration with a file, and doctor work from it", async () => {
  expect((await runBin(["--help"], { program })).code).toBe(0);
  expect((await runBin(["config", "check"], { program })).code).toBe(0);
  const version = (await runBin(["version", "--json"], { program })).json() as { build: string };
  expect(version.build).toBe("bundle");
  expect(
    (await runBin(["doctor", "--json", "--data-dir", join(folder, "none")], { program })).json().ok,
  ).toBe(true);
});
