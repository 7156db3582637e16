// Servers that nobody here wrote, and small ones that try what they may not, in the real sandbox.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Client } from "@modelcontextprotocol/client";
import { openEgress } from "../../egress/guard.ts";
import { openSandbox, type Sandbox } from "../../sandbox/sandbox.ts";
import type { ServerRow, ServerTransport } from "../../../storage/store/store.ts";
import { openStdio, type StdioTransport } from "./stdio.ts";
import { removeFolders } from "./folder.ts";
import type { FolderGuard } from "./process.ts";
import { resolveProgram } from "./program.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const official = (name: string): string[] => [
  "node",
  `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`,
];
const path = process.env["PATH"] ?? "";

/**
 * One tool, `run`: evaluates its argument inside. Written by hand, so that nothing else is in its environment or
 * memory.
 */
const PROBE = `
const answer = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
const said = (cause) => cause ? [cause.message, said(cause.cause)].filter(Boolean).join("; ") : "";
let rest = "";
process.stdin.on("data", async (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (method === "initialize") answer(id, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "probe", version: "1" } });
    else if (method === "tools/call") {
      const text = await Promise.resolve().then(() => eval(params.arguments.code)).then((value) => JSON.stringify(value) ?? "undefined", (cause) => "failed: " + said(cause));
      answer(id, { content: [{ type: "text", text }] });
    }
  }
});
`;

/** Folders as they are: what the server keeps for itself, and repositories, are looked at elsewhere. */
const OPEN: FolderGuard = {
  requireApart: () => undefined,
  hold: () => Promise.resolve({ protect: [], release: () => Promise.resolve([]) }),
};

type Stdio = Extract<ServerTransport, { kind: "stdio" }>;
interface Session {
  readonly client: Client;
  readonly transport: StdioTransport;
  readonly said: string[];
  /** The first text of a tool's answer. */
  call(name: string, args: Record<string, unknown>): Promise<string>;
}

const there = (
  await openSandbox({ folder: mkdtempSync(join(tmpdir(), "ostiary-look-")), path }).probed
).ready;

describe.skipIf(!there)("servers in the sandbox", { timeout: 180_000 }, () => {
  let folder: string;
  let dataDir: string;
  let sandbox: Sandbox;
  const egress = openEgress();
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "ostiary-servers-test-"));
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, "probe.cjs"), PROBE);
    // As it is made at a start: closed to everybody else.
    dataDir = mkdtempSync(join(folder, "data-"));
    sandbox = openSandbox({ folder: join(dataDir, "sandbox"), path });
  });
  afterAll(async () => {
    await sandbox.close();
    await egress.close();
    for (const name of ["probe", "memory", "everything", "files", "other"])
      await removeFolders(name, dataDir);
    rmSync(folder, { recursive: true, force: true });
  });

  async function connect(
    name: string,
    argv: readonly string[],
    extra: Partial<Stdio> = {},
    whose = "none",
  ): Promise<Session> {
    const { argv: words, folders } = await resolveProgram(argv, ROOT);
    const settings: Stdio = {
      kind: "stdio",
      argv: words,
      env: {},
      isolation: "sandbox",
      network: "none",
      localSockets: false,
      ...extra,
      folders: [...folders, ...(extra.folders ?? [])],
    };
    const row = { name, transport: settings, settings: { maxResultBytes: 1_000_000 } } as ServerRow;
    const credential = {
      id: whose,
      env: () => Promise.resolve(settings.env),
      headers: () => ({}),
      oauth: null,
    };
    const said: string[] = [];
    const transport = await openStdio(
      row,
      credential,
      { logged: (line) => said.push(line), notified: () => undefined },
      { sandbox, egress, dataDir, guard: OPEN },
    );
    const client = new Client({ name: "ostiary", version: "1" }, { capabilities: {} });
    await client.connect(transport, { timeout: 90_000 });
    const call = async (tool: string, args: Record<string, unknown>): Promise<string> => {
      const { content } = (await client.callTool(
        { name: tool, arguments: args },
        { timeout: 90_000 },
      )) as { content: { text: string }[] };
      return content[0]?.text ?? "";
    };
    return { client, transport, said, call };
  }
  const probe = (extra: Partial<Stdio> = {}, whose?: string): Promise<Session> =>
    connect("probe", ["node", join(folder, "probe.cjs")], extra, whose);

  test("the everything server lists its tools and answers; its words are in the log", async () => {
    const { client, call, said } = await connect("everything", official("everything"));
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("echo");
    expect(await call("echo", { message: "through the box" })).toBe("Echo: through the box");
    expect(JSON.parse(await call("get-env", {}))).toEqual({
      PATH: "/usr/local/bin:/usr/bin:/bin",
      HOME: "/job",
      TMPDIR: "/tmp",
      LANG: "C.UTF-8",
      PWD: "/job",
    });
    expect(said.join("\n")).toContain("STDIO");
    await client.close();
  });

  test("the memory server finds in its own folder what it wrote before it was started again", async () => {
    const env = { MEMORY_FILE_PATH: "/job/memory.jsonl" };
    const first = await connect("memory", official("memory"), { env });
    await first.call("create_entities", {
      entities: [{ name: "Ada", entityType: "person", observations: ["kept"] }],
    });
    await first.client.close();
    const second = await connect("memory", official("memory"), { env });
    expect(await second.call("read_graph", {})).toContain("kept");
    await second.client.close();
  });

  test("the filesystem server sees the folder it was given, and writes only where it may", async () => {
    const work = mkdtempSync(join(folder, "work-"));
    chmodSync(work, 0o777);
    writeFileSync(join(work, "seen.txt"), "from outside");
    const { client, call } = await connect("files", [...official("filesystem"), work], {
      folders: [{ path: work, access: "ro" }],
    });
    expect(await call("read_text_file", { path: join(work, "seen.txt") })).toBe("from outside");
    expect(await call("write_file", { path: join(work, "made.txt"), content: "x" })).toContain(
      "EROFS",
    );
    expect(await call("read_text_file", { path: join(folder, "probe.cjs") })).toMatch(/denied/i);
    await client.close();
  });

  test("T17: inside are the given variables and the box's own; nothing of the host can be read or reached", async () => {
    process.env["OSTIARY_CANARY"] = "sk-canary";
    writeFileSync(join(folder, "..", `${folder.split("/").at(-1) ?? ""}.txt`), "canary");
    const { client, call } = await probe({ env: { TOKEN: "given" } });
    delete process.env["OSTIARY_CANARY"];
    const run = (code: string): Promise<string> => call("run", { code });
    expect(JSON.parse(await run("process.env"))).toEqual({
      TOKEN: "given",
      PATH: "/usr/local/bin:/usr/bin:/bin",
      HOME: "/job",
      TMPDIR: "/tmp",
      LANG: "C.UTF-8",
      PWD: "/job",
    });
    expect(await run("process.cwd()")).toBe('"/job"');
    for (const secret of [
      `${folder}.txt`,
      join(dataDir, "servers"),
      join(ROOT, "package.json"),
      "/root",
      "/etc/shadow",
    ])
      expect(await run(`require("fs").readdirSync(${JSON.stringify(secret)})`), secret).toMatch(
        /^failed: (ENOENT|EACCES|ENOTDIR)/,
      );
    expect(
      await run(`require("fs").readFileSync(${JSON.stringify(`${folder}.txt`)}, "utf8")`),
    ).toMatch(/^failed: ENOENT/);
    expect(
      await run(`require("fs").writeFileSync(${JSON.stringify(join(folder, "probe.cjs"))}, "x")`),
    ).toMatch(/^failed: EROFS/);
    expect(await run('fetch("http://127.0.0.1:8123/")')).toMatch(/^failed: .*ECONNREFUSED/);
    expect(
      await run(
        `require("fs").readFileSync(${JSON.stringify(join(folder, "probe.cjs"))}, "utf8").length > 9`,
      ),
    ).toBe("true");
    rmSync(`${folder}.txt`);
    await client.close();
  });

  test("with hosts it reaches those through the guard, and no other place", async () => {
    const asked: string[] = [];
    const web = createServer((request, response) => {
      asked.push(request.url ?? "");
      response.end("reached");
    });
    await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
    const { port } = web.address() as AddressInfo;
    const { client, call } = await probe({ network: { hosts: [`127.0.0.1:${port}`] } });
    const get = (url: string): Promise<string> =>
      call("run", {
        code: `fetch(${JSON.stringify(url)}).then(async (r) => r.status + " " + (await r.text()))`,
      });
    expect(await get(`http://127.0.0.1:${port}/yes`)).toBe('"200 reached"');
    expect(await get(`http://localhost:${port}/no`)).toMatch(/^failed: .*403/);
    expect(await get("http://198.51.100.7/no")).toMatch(/^failed: .*403/);
    expect(asked).toEqual(["/yes"]);
    expect(
      Object.keys(JSON.parse(await call("run", { code: "process.env" })) as object).sort(),
    ).toEqual([
      "HOME",
      "HTTPS_PROXY",
      "HTTP_PROXY",
      "LANG",
      "NODE_USE_ENV_PROXY",
      "NO_PROXY",
      "PATH",
      "TMPDIR",
      "http_proxy",
      "https_proxy",
      "no_proxy",
    ]);
    await client.close();
    web.closeAllConnections();
    web.close();
  });

  test("people with credentials of their own get a folder each", async () => {
    for (const [whose, found] of [
      ["user:usr_1 aa", "failed: ENOENT"],
      ["user:usr_2 bb", "failed: ENOENT"],
      ["user:usr_1 cc", '"usr_1"'],
    ] as const) {
      const { client, call } = await probe({}, whose);
      const [, user = ""] = /user:(\S+)/.exec(whose) ?? [];
      expect(
        await call("run", { code: 'require("fs").readFileSync("/job/mine", "utf8")' }),
      ).toMatch(found);
      await call("run", {
        code: `require("fs").writeFileSync("/job/mine", ${JSON.stringify(user)})`,
      });
      await client.close();
    }
  });

  test("a server that is removed and added again begins anew", async () => {
    const read = 'require("fs").readdirSync("/job")';
    const first = await probe();
    await first.call("run", { code: 'require("fs").writeFileSync("/job/kept", "x")' });
    expect(await first.call("run", { code: read })).toContain("kept");
    await first.client.close();
    await removeFolders("probe", dataDir);
    const again = await probe();
    expect(await again.call("run", { code: read })).toBe("[]");
    await again.client.close();
  });

  test("a crash in the middle of a call ends it with the reason, and a new start works", async () => {
    const { client, transport, call } = await probe();
    await expect(
      call("run", { code: 'console.error("out of luck"); process.exit(7)' }),
    ).rejects.toThrow(/closed/i);
    expect(transport.endReason).toBe("it ended with exit code 7; its last words: out of luck");
    await client.close();
    const again = await probe();
    expect(await again.call("run", { code: "1 + 1" })).toBe("2");
    await again.client.close();
  });

  test("closing the sandbox leaves nothing of it running", async () => {
    const other = openSandbox({ folder: join(dataDir, "other"), path });
    const row = {
      name: "other",
      transport: {
        kind: "stdio",
        argv: ["node", join(folder, "probe.cjs")],
        env: {},
        isolation: "sandbox",
        network: "none",
        localSockets: false,
        folders: [{ path: folder, access: "ro" }],
      },
      settings: { maxResultBytes: 1_000_000 },
    } as unknown as ServerRow;
    const credential = {
      id: "none",
      env: () => Promise.resolve({}),
      headers: () => ({}),
      oauth: null,
    };
    const transport = await openStdio(
      row,
      credential,
      { logged: () => undefined, notified: () => undefined },
      { sandbox: other, egress, dataDir, guard: OPEN },
    );
    const closed = new Promise<void>((resolve) => (transport.onclose = resolve));
    await transport.start();
    await other.close();
    await closed;
    expect(transport.endReason).toBe("it was stopped");
    await expect(transport.send({ jsonrpc: "2.0", method: "x" })).rejects.toMatchObject({
      kind: "closed",
    });
    expect(readFileSync(join(folder, "probe.cjs"), "utf8")).toBe(PROBE);
  });
});
