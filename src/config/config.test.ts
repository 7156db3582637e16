import fc from "fast-check";
import {
  chmodSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { configPage } from "../../scripts/config-docs.ts";
import { readConfigText } from "./file.ts";
import { configLayout, variableOf } from "./leaves.ts";
import { NOT_AVAILABLE } from "./schema.ts";
import { ConfigError, configJsonSchema, isLoopback, loadConfig, valueAt } from "./config.ts";
import type { ConfigSources } from "./config.ts";

let folder: string;
let home: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ostiary-config-"));
  home = join(folder, "home");
  mkdirSync(home);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const load = (sources: Partial<ConfigSources> = {}) =>
  loadConfig({ env: {}, cwd: folder, home, ...sources });

function write(text: string, name = "ostiary.yaml"): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** The faults as lines `where key: message`, with the folder cut off. */
async function faultsOf(sources: Partial<ConfigSources>): Promise<string[]> {
  const error = await load(sources).then(
    () => null,
    (cause: unknown) => cause,
  );
  if (!(error instanceof ConfigError))
    throw new Error("expected a ConfigError", { cause: error ?? undefined });
  return error.faults.map((f) => `${f.where.replace(`${folder}/`, "")} ${f.key}: ${f.message}`);
}

describe("sources", () => {
  test("nothing set: the documented defaults", async () => {
    const { config, file } = await load();
    expect(file).toBeNull();
    expect(config).toMatchObject({
      dataDir: join(home, ".ostiary"),
      store: "sqlite:ostiary.db",
      server: { host: "127.0.0.1", port: 3100, authEnabled: true, fastPath: true },
      execution: { defaultTimeoutMs: 30_000, maxTimeoutMs: 300_000, maxRunning: 100 },
      history: { memoryEntries: 1000 },
      metrics: { identityLabels: false },
    });
  });

  test("file beats default, environment beats file, flag beats environment, and the origin says so", async () => {
    const file = write("server:\n  port: 1111\n  host: localhost\nlog: { level: debug }\n");
    const { config, origins } = await load({
      file,
      env: { MCP_PORT: "2222", OSTIARY_LOG_LEVEL: "warn" },
      flags: { "server.port": "3333" },
    });
    expect(config.server.port).toBe(3333);
    expect(config.log.level).toBe("warn");
    expect(config.server.host).toBe("localhost");
    expect(origins["server.port"]).toMatchObject({ source: "flag", where: "--port" });
    expect(origins["log.level"]).toMatchObject({
      source: "environment",
      where: "OSTIARY_LOG_LEVEL",
    });
    expect(origins["server.host"]).toMatchObject({ source: "file", where: `${file}:3:9` });
    expect(origins["server.fastPath"]).toMatchObject({ source: "default" });
  });

  test("the file is --config, else OSTIARY_CONFIG, else the one in the data directory", async () => {
    const dataDir = join(folder, "data");
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, "ostiary.yaml"), "server: { port: 1 }");
    const env = { OSTIARY_DATA_DIR: dataDir };
    expect((await load({ env })).config.server.port).toBe(1);
    const named = write("server: { port: 2 }", "named.yaml");
    expect((await load({ env: { ...env, OSTIARY_CONFIG: named } })).config.server.port).toBe(2);
    const flag = write("server: { port: 3 }", "flag.yaml");
    const all = await load({ env: { ...env, OSTIARY_CONFIG: named }, file: flag });
    expect(all.config.server.port).toBe(3);
    expect(all.file).toBe(flag);
  });

  test("a named file may set the data directory, relative to itself; a found one may not", async () => {
    const file = write("dataDir: here\nworkspace: ./work");
    const { config } = await load({ file, cwd: home });
    expect(config.dataDir).toBe(join(folder, "here"));
    expect(config.workspace).toBe(join(folder, "work"));
    const faults = await faultsOf({ env: { OSTIARY_DATA_DIR: folder } });
    expect(faults[0]).toContain("ostiary.yaml:1:10 dataDir: cannot be set in a file");
  });

  test("every leaf can be set by its variable, and R290 R291 R292 R293 keep their names", async () => {
    const names = [...configLayout().leaves.values()].map((leaf) => leaf.env);
    expect(new Set(names).size).toBe(names.length);
    for (const name of [
      "MCP_TRANSPORT",
      "MCP_HOST",
      "MCP_PORT",
      "MCP_AUTH_ENABLED",
      "MCP_SESSION_TIMEOUT",
      "RATE_LIMIT_ENABLED",
      "RATE_LIMIT_REQUESTS_PER_MINUTE",
      "TOOL_EXECUTION_DEFAULT_TIMEOUT",
      "TOOL_EXECUTION_MAX_TIMEOUT",
      "MAX_HISTORY_SIZE",
      "TOOL_WHITELIST",
      "FEATURE_MCP_TOOLS",
      "FEATURE_TOOLS_POLICY",
      "OSTIARY_DATA_DIR",
      "OSTIARY_ADMIN_KEY",
      "OSTIARY_STORE",
      "OSTIARY_STATE",
      "OSTIARY_POLICY",
      "OSTIARY_RELATIONS",
      "OSTIARY_SINK",
      "OSTIARY_WORK",
      "OTEL_EXPORTER_OTLP_ENDPOINT",
    ])
      expect(names).toContain(name);
    expect(variableOf("server.allowedHosts")).toBe("OSTIARY_SERVER_ALLOWED_HOSTS");
    const { config } = await load({
      env: {
        MCP_AUTH_ENABLED: "no",
        MCP_SESSION_TIMEOUT: "60",
        TOOL_EXECUTION_DEFAULT_TIMEOUT: "2000",
        TOOL_EXECUTION_MAX_TIMEOUT: "4000",
        MAX_HISTORY_SIZE: "5",
        OSTIARY_SERVER_ALLOWED_HOSTS: "a.example, b.example",
        MCP_PORT: "",
      },
    });
    expect(config.server).toMatchObject({
      authEnabled: false,
      sessionTimeoutSeconds: 60,
      allowedHosts: ["a.example", "b.example"],
      port: 3100,
    });
    expect(config.execution).toMatchObject({ defaultTimeoutMs: 2000, maxTimeoutMs: 4000 });
    expect(config.history.memoryEntries).toBe(5);
  });

  test("the result and its origins are frozen through and through", async () => {
    const { config, origins } = await load();
    for (const object of [config, config.server, config.server.allowedHosts, origins])
      expect(Object.isFrozen(object)).toBe(true);
    expect(() => Object.assign(config.server, { port: 1 })).toThrow(TypeError);
  });
});

describe("faults", () => {
  test("all of them at once, each with its place, what was expected and what was got", async () => {
    const file = write(
      `store: mysql://x
server:
  port: abc
  hots: 1.2.3.4
  allowedHosts: [ok.example, "http://b"]
port: 3
execution: 5
adminKey: \${env:NOPE}
policy: opa:x
work: temporal://x
log: { level: loud }
`,
    );
    const faults = await faultsOf({
      file,
      env: { MCP_PORT: "x", OSTIARY_SERVER_PORT: "1", OSTIARY_STROE: "x" },
      flags: { "server.port": "70000" },
    });
    expect(faults).toEqual([
      "OSTIARY_SERVER_PORT : unknown variable; did you mean MCP_PORT?",
      "OSTIARY_STROE : unknown variable; did you mean OSTIARY_STORE?",
      'ostiary.yaml:4:3 server.hots: unknown key "hots" in server; did you mean server.host?',
      'ostiary.yaml:6:1 port: unknown key "port"; did you mean server.port?',
      'ostiary.yaml:7:12 execution: expected the settings of execution as "key: value" lines, got 5',
      'ostiary.yaml:1:8 store: expected sqlite:<file> or postgres://user@host/database, got "mysql://x"',
      'ostiary.yaml:3:9 server.port: expected a whole number from 0 to 65535, got "abc"',
      'ostiary.yaml:5:30 server.allowedHosts: expected a host name without scheme or port (entry 2), got "http://b"',
      "ostiary.yaml:8:11 adminKey: the variable NOPE is not set",
      'ostiary.yaml:9:9 policy: expected embedded, or opa+http://host:port, got "opa:x"',
      'ostiary.yaml:10:7 work: not available in this version: background work on Temporal (today it is always "embedded")',
      'ostiary.yaml:11:15 log.level: expected one of debug, info, warn, error, silent, got "loud"',
      'MCP_PORT server.port: expected a whole number from 0 to 65535, got "x"',
      "--port server.port: expected a whole number from 0 to 65535, got 70000",
    ]);
  });

  test("broken YAML, duplicate keys, two documents, unknown tags", async () => {
    expect((await faultsOf({ file: write("server: [1, 2") }))[0]).toMatch(
      /^ostiary\.yaml:1:\d+ : not valid YAML/,
    );
    expect((await faultsOf({ file: write("log: {}\nlog: {}\n") }))[0]).toMatch(
      /^ostiary\.yaml:2:1 : not valid YAML/,
    );
    expect((await faultsOf({ file: write("log: {}\n---\nlog: {}\n") }))[0]).toContain(
      "not valid YAML",
    );
    expect((await faultsOf({ file: write("store: !secret x\n") }))[0]).toContain("not valid YAML");
    expect((await faultsOf({ file: write("- a\n- b\n") }))[0]).toContain("got a list");
    expect((await faultsOf({ file: write("server:\n  port:\n") }))[0]).toContain("got nothing");
  });

  test("a file that is missing, a folder, unreadable or too large", async () => {
    expect(await faultsOf({ file: "nope.yaml" })).toEqual(["nope.yaml : there is no such file"]);
    expect((await faultsOf({ file: home }))[0]).toContain("it is a folder");
    expect((await faultsOf({ file: write(" ".repeat(1_100_000)) }))[0]).toContain("larger than");
    if (process.getuid?.() !== 0) {
      const secret = write("", "secret.yaml");
      chmodSync(secret, 0o000);
      expect((await faultsOf({ file: secret }))[0]).toContain("cannot be read (EACCES)");
    }
  });

  test("an empty file and empty sections mean the defaults", async () => {
    expect((await load({ file: write("") })).config.server.port).toBe(3100);
    expect((await load({ file: write("server:\nlog: {}\n") })).config.server.port).toBe(3100);
  });

  test("without authentication only loopback may be used, whichever source said what", async () => {
    const text = "authentication is off";
    for (const host of ["0.0.0.0", "::", "192.168.1.4", "example.com", "127.evil.example"])
      expect((await faultsOf({ env: { MCP_AUTH_ENABLED: "0", MCP_HOST: host } }))[0]).toContain(
        text,
      );
    for (const host of ["localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]"]) {
      expect(isLoopback(host)).toBe(true);
      await load({ env: { MCP_AUTH_ENABLED: "0", MCP_HOST: host } });
    }
    await load({ env: { MCP_HOST: "0.0.0.0" } });
  });

  test("nested time limits must shrink inwards", async () => {
    expect((await faultsOf({ env: { TOOL_EXECUTION_MAX_TIMEOUT: "5000" } }))[0]).toContain(
      "the default timeout (30000 ms) is longer than execution.maxTimeoutMs (5000 ms)",
    );
  });

  test("a setting whose feature is not built is refused, and its value of today is not", async () => {
    for (const { key, only, feature } of NOT_AVAILABLE) {
      const leaf = configLayout().leaves.get(key);
      if (!leaf) throw new Error(`${key} is not a setting`);
      expect(leaf.fallback).toEqual(only);
      const other =
        leaf.kind === "switch"
          ? String(only === false)
          : leaf.kind === "number"
            ? "7"
            : "kafka://x";
      const faults = await faultsOf({ env: { [leaf.env]: other } });
      expect(faults[0]).toContain(`not available in this version: ${feature}`);
      if (only !== undefined && !Array.isArray(only))
        await load({ env: { [leaf.env]: typeof only === "string" ? only : JSON.stringify(only) } });
    }
  });

  test("a secret is never shown in a fault", async () => {
    const faults = await faultsOf({ env: { OSTIARY_ADMIN_KEY: "too short" } });
    expect(faults[0]).toContain("expected 32 to 512 visible characters");
    expect(faults[0]).not.toContain("too short");
    const cut = `ost_local_${"a".repeat(40)}`;
    const [unfit] = await faultsOf({ env: { OSTIARY_ADMIN_KEY: cut } });
    expect(unfit).toContain("a whole ost_… key");
    expect(unfit).not.toContain(cut);
    await load({ env: { OSTIARY_ADMIN_KEY: `${cut}${"b".repeat(9)}` } });
    const [address] = await faultsOf({ env: { OSTIARY_SINK: "kafka://ada:pa55@h/t?sasl=plain" } });
    expect(address).toContain(
      'expected tls=on with sasl=plain, beyond loopback, got "kafka://ada:••••••@h/t',
    );
  });

  test("the data directory is no workspace", async () => {
    const env = { OSTIARY_DATA_DIR: folder, OSTIARY_WORKSPACE: folder };
    expect((await faultsOf({ env }))[0]).toContain("is the data directory");
  });
});

describe("values", () => {
  test("references to variables and files are resolved, and the origin keeps what was written", async () => {
    writeFileSync(join(folder, "pw"), "s3cret\n");
    const file = write(
      "store: postgres://u:${file:pw}@h/d\nadminKey: ${env:K}\nworkspace: a$${b}\n",
    );
    const { config, origins } = await load({ file, env: { K: "k".repeat(40) }, cwd: home });
    expect(config.store).toBe("postgres://u:s3cret@h/d");
    expect(config.adminKey).toBe("k".repeat(40));
    expect(config.workspace).toBe(join(folder, "a${b}"));
    expect(origins["store"]?.written).toBe("postgres://u:${file:pw}@h/d");
  });

  test("a reference that leads nowhere is a fault at its place", async () => {
    const faults = await faultsOf({
      file: write("store: ${file:none}\nadminKey: ${keyring:a}\nworkspace: ${HOME}\n"),
    });
    expect(faults).toEqual([
      "ostiary.yaml:1:8 store: the file none cannot be read (ENOENT)",
      "ostiary.yaml:2:11 adminKey: not available in this version: ${keyring:…}",
      "ostiary.yaml:3:12 workspace: expected ${env:NAME} or ${file:PATH}, got ${HOME}",
    ]);
  });

  test("the workspace is the start folder, unless that is a home, above it, the root or the data directory", async () => {
    const inData = join(home, ".ostiary", "workspace");
    expect((await load({ cwd: join(home, "project") })).config.workspace).toBe(
      join(home, "project"),
    );
    expect((await load({ cwd: home })).config.workspace).toBe(inData);
    expect((await load({ cwd: folder })).config.workspace).toBe(inData);
    expect((await load({ cwd: "/" })).config.workspace).toBe(inData);
    const data = await load({ cwd: join(home, ".ostiary") });
    expect(data.config.workspace).toBe(inData);
  });
});

test("random YAML never crashes: it is accepted or refused with a place", () => {
  const layout = configLayout();
  const keys = [...layout.leaves.keys()].flatMap((key) => key.split("."));
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, 0, -1.5, "", "x", "${env:A}", "*a", "&b"),
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(
        fc.oneof(fc.constantFrom(...keys, "__proto__", "<<"), fc.string()),
        tie("tree"),
        { maxKeys: 4 },
      ),
    ),
  }));
  const texts = fc.oneof(
    fc.string({ maxLength: 60, unit: "binary" }),
    fc.stringMatching(/^[a-z&*!<>{}[\]:,\-\n "'|%@`#?~0-9.]{0,80}$/),
    tree.map((value) => stringify(value)),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const { settings, faults } = readConfigText(text, "f.yaml", layout);
      for (const setting of settings.values()) expect(setting.where).toMatch(/^f\.yaml:\d+:\d+$/);
      for (const one of faults) expect(one.where).toMatch(/^f\.yaml/);
    }),
    { numRuns: 500 },
  );
});

test("random YAML through the whole loader ends in a configuration or a ConfigError", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ maxLength: 40 }),
      fc.string({ maxLength: 20 }),
      async (text, port) => {
        const file = write(text);
        await load({ file, env: { MCP_PORT: port } }).catch((cause: unknown) => {
          expect(cause).toBeInstanceOf(ConfigError);
        });
      },
    ),
    { numRuns: 100 },
  );
});

test("the approval webhook: address and secret go together, three levels deep in every source", async () => {
  const secret = `whsec_${Buffer.alloc(32).toString("base64")}`;
  const file = write("approvals:\n  webhook:\n    url: https://hooks.example.com/a\n");
  const env = { OSTIARY_APPROVALS_WEBHOOK_SECRET: secret };
  const { config } = await load({ file, env });
  expect(config.approvals).toEqual({
    maxPendingPerCaller: 20,
    webhook: { url: "https://hooks.example.com/a", secret },
  });
  expect(await faultsOf({ file })).toEqual([
    "ostiary.yaml:3:10 approvals.webhook.url: needs approvals.webhook.secret as well",
  ]);
  expect(await faultsOf({ env })).toEqual([
    "OSTIARY_APPROVALS_WEBHOOK_SECRET approvals.webhook.secret: needs approvals.webhook.url as well",
  ]);
  const wrong = await faultsOf({
    env: {
      OSTIARY_APPROVALS_WEBHOOK_URL: "file:///etc",
      OSTIARY_APPROVALS_WEBHOOK_SECRET: "hunter2",
    },
  });
  expect(wrong.length).toBe(2);
  expect(wrong.join()).not.toContain("hunter2");
});

test("aliases that would grow without bound are refused", () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]\n${["b", "c", "d", "e", "f"]
    .map((name, i) => `${name}: &${name} [${`*${"abcdef"[i]},`.repeat(10)}]`)
    .join("\n")}\ntools: { whitelist: *f }\n`;
  const { faults } = readConfigText(bomb, "f.yaml", configLayout());
  expect(faults.length).toBeGreaterThan(0);
});

test("the JSON Schema knows every leaf and demands none", () => {
  const schema = configJsonSchema();
  expect(schema["required"]).toBeUndefined();
  expect(schema["additionalProperties"]).toBe(false);
  const text = JSON.stringify(schema);
  for (const leaf of configLayout().leaves.values()) {
    expect(text).toContain(JSON.stringify(leaf.key.split(".").at(-1)));
    expect(leaf.description).not.toBe("");
  }
});

test("every setting has a reader: one that nobody reads is a defect", () => {
  const waiting = new Set(NOT_AVAILABLE.map(({ key }) => key));
  const src = join(import.meta.dirname, "..");
  const texts = globSync("**/*.ts", { cwd: src })
    .filter((file) => !/^config\/|\.test\.ts$|\.suite/.test(file))
    .map((file) => readFileSync(join(src, file), "utf8"));
  const read = (name: string) => texts.some((text) => new RegExp(`[.{,] *${name}\\b`).test(text));
  for (const key of configLayout().leaves.keys())
    if (!waiting.has(key)) expect(read(key.split(".").at(-1) ?? ""), key).toBe(true);
});

test("valueAt reads any leaf", async () => {
  const { config } = await load();
  expect(valueAt(config, "server.port")).toBe(3100);
});

test("docs/config.md is what `node scripts/config-docs.ts` writes", async () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/config.md"), "utf8");
  expect(page).toBe(await configPage());
});
