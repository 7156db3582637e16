// What the tools about the machine and the web say where something is there, absent, or not permitted.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { openMachine, type FakeMachine } from "../fixtures/machine.ts";
import { openWeb, type Web } from "../fixtures/web.ts";
import { modernCall, modernHeaders, post } from "./mcp-clients.ts";

const open: { app?: StartedApp; machine?: FakeMachine; web?: Web } = {};
afterEach(async () => {
  await open.app?.close();
  await open.web?.close();
  open.machine?.close();
  delete open.app;
  delete open.web;
  delete open.machine;
});

const machine = (): FakeMachine => (open.machine = openMachine());

async function start(flags: Record<string, string> = {}): Promise<StartedApp> {
  const { machine: given, web } = open;
  return (open.app = await startApp({
    flags,
    ...(given ? { machine: given } : {}),
    ...(web ? { egress: web.egress } : {}),
  }));
}

// The answers have the shape that each test asserts.
type Found = any; // eslint-disable-line @typescript-eslint/no-explicit-any

async function overMcp(app: StartedApp, name: string, args: object = {}): Promise<Found> {
  const response = await post(app.url, app.adminKey, modernCall(name, args), modernHeaders(name));
  return ((await response.json()) as Found).result;
}

async function overRest(app: StartedApp, name: string, args: object = {}): Promise<Found> {
  return (await app.api("POST", "/executions", { body: { name, arguments: args } })).body;
}

describe("item 6, R267: figures of the graphics processor", () => {
  test("nvidia-smi tells them", async () => {
    const asked = machine();
    asked.program(
      "nvidia-smi",
      `echo "$@" > "${asked.root}/asked"
echo "NVIDIA RTX 4000, 37, 20475, 1024, 61"
echo "NVIDIA T4, [N/A], 15360, 0, [Not Supported]"`,
    );
    const app = await start();
    const { structuredContent } = await overMcp(app, "system_metrics_snapshot");
    expect(structuredContent.gpu).toEqual([
      {
        name: "NVIDIA RTX 4000",
        loadPercent: 37,
        memory: { total: 20_475 * 1_048_576, used: 1_073_741_824, percent: 5 },
        temperatureC: 61,
      },
      {
        name: "NVIDIA T4",
        loadPercent: null,
        memory: { total: 15_360 * 1_048_576, used: 0, percent: 0 },
        temperatureC: null,
      },
    ]);
    expect(structuredContent).not.toHaveProperty("gpuReason");
    expect(readFileSync(join(asked.root, "asked"), "utf8").trim()).toBe(
      "--query-gpu=name,utilization.gpu,memory.total,memory.used,temperature.gpu --format=csv,noheader,nounits",
    );
  });

  test("the kernel tells them where a driver writes them down", async () => {
    const fake = machine();
    fake.sys("class/drm/card1/device/vendor", "0x1002\n");
    fake.sys("class/drm/card1/device/product_name", "Radeon Pro W7900\n");
    fake.sys("class/drm/card1/device/gpu_busy_percent", "12\n");
    fake.sys("class/drm/card1/device/mem_info_vram_total", "1000\n");
    fake.sys("class/drm/card1/device/mem_info_vram_used", "250\n");
    fake.sys("class/drm/card1/device/hwmon/hwmon4/temp1_input", "48000\n");
    fake.sys("class/drm/card1-DP-1/status", "connected\n");
    fake.sys("class/drm/card2/device/vendor", "0x8086\n");
    fake.sys("class/drm/card2/device/device", "0x56a0\n");
    // The picture of a virtual machine is no graphics processor.
    fake.sys("class/drm/card3/device/vendor", "0x1234\n");
    const { result } = await overRest(await start(), "system/metrics");
    const memory = { total: 1000, used: 250, percent: 25 };
    expect(result.gpu).toEqual([
      { name: "Radeon Pro W7900", loadPercent: 12, memory, temperatureC: 48 },
      { name: "Intel 0x56a0", loadPercent: null, memory: null, temperatureC: null },
    ]);
  });

  test("null, with the reason, where there is none", async () => {
    machine();
    const { result } = await overRest(await start(), "system/metrics");
    expect(result.gpu).toBeNull();
    expect(result.gpuReason).toMatch(/no graphics processor found: nvidia-smi is not installed/);
    expect(result.cpu.cores).toBeGreaterThan(0);
  });

  test("null, with what nvidia-smi says, where its driver is missing or it hangs", async () => {
    const fake = machine();
    const words = "NVIDIA-SMI has failed because it could not communicate with the driver.";
    fake.program("nvidia-smi", `echo "${words}"; exit 9`);
    const app = await start();
    const failed = await overRest(app, "system/metrics");
    expect(failed.result).toMatchObject({ gpu: null, gpuReason: expect.stringContaining(words) });
    fake.program("nvidia-smi", "exec /bin/sleep 60");
    const slow = await overRest(app, "system/metrics");
    expect(slow.result).toMatchObject({
      gpu: null,
      gpuReason: expect.stringContaining("took longer than 3 s"),
    });
  });
});

describe("item 6, R267: the system's log", () => {
  const at = Date.now() - 60_000;
  const line = (message: unknown, priority: number, ms = at): string =>
    JSON.stringify({
      __REALTIME_TIMESTAMP: String(ms * 1000),
      MESSAGE: message,
      PRIORITY: String(priority),
      SYSLOG_IDENTIFIER: "sshd",
      _PID: "812",
    });
  const says = (fake: FakeMachine, lines: readonly string[], script = ""): void => {
    const text = lines.map((each) => `echo '${each}'`).join("\n");
    fake.program("journalctl", `echo "$@" > "${fake.root}/asked"\n${text}\n${script}`);
  };

  test("read_system_logs reads journald, newest last, with fixed arguments", async () => {
    const fake = machine();
    const bytes = [...Buffer.from("caf\u00e9", "utf8")];
    says(fake, [line("session closed", 6), line("failed login", 3), line(bytes, 4), "no json"]);
    const app = await start();
    const { structuredContent } = await overMcp(app, "read_system_logs", { since: "1h" });
    const entry = { time: new Date(at).toISOString(), source: "system" };
    expect(structuredContent).toEqual({
      entries: [
        { ...entry, level: "warn", message: "sshd[812]: caf\u00e9" },
        { ...entry, level: "error", message: "sshd[812]: failed login" },
        { ...entry, level: "info", message: "sshd[812]: session closed" },
      ],
      truncated: false,
    });
    expect(readFileSync(join(fake.root, "asked"), "utf8").trim()).toMatch(
      /^--system --no-pager --output=json --output-fields=MESSAGE,PRIORITY,SYSLOG_IDENTIFIER,_COMM,_PID --reverse --since=@\d+ --until=@\d+$/,
    );
  });

  test("severity is journald's to filter; text, time and number are ours", async () => {
    const fake = machine();
    const old = Date.now() - 7_200_000;
    says(fake, [
      line("Failed login of bob", 3),
      line("disk failed", 2),
      line("failed early", 3, old),
    ]);
    const app = await start();
    const query = { source: "system", since: "1h", level: "error", contains: "FAILED", limit: 1 };
    const { result } = await overRest(app, "system/logs", query);
    expect(result.entries.map(({ message }: Found) => message)).toEqual([
      "sshd[812]: Failed login of bob",
    ]);
    expect(result.truncated).toBe(true);
    expect(readFileSync(join(fake.root, "asked"), "utf8")).toContain("--priority=3");
  });

  test("a journal without end is read up to a limit", { timeout: 30_000 }, async () => {
    const fake = machine();
    says(fake, [], `while :; do echo '${line("again", 6)}'; done`);
    const app = await start();
    const few = await overRest(app, "read_system_logs", { limit: 2 });
    expect(few.result).toMatchObject({ truncated: true, entries: [{}, {}] });
    const none = await overRest(app, "read_system_logs", { contains: "never said" });
    expect(none.result).toEqual({ entries: [], truncated: true });
  });

  test("who may not read it is told how to be let in", async () => {
    const fake = machine();
    const words = "No journal files were opened due to insufficient permissions.";
    says(fake, [], `echo "${words}" >&2; exit 1`);
    const answer = await overMcp(await start(), "read_system_logs");
    expect(answer.isError).toBe(true);
    expect(answer.structuredContent.error).toMatchObject({
      reason: "source_unavailable",
      message: expect.stringContaining("may not read the system's journal"),
      remedy: expect.stringContaining("systemd-journal"),
    });
  });

  test("without journald the plain file is read; without both the message names both", async () => {
    const fake = machine();
    const app = await start();
    const absent = await overRest(app, "read_system_logs");
    expect(absent).toMatchObject({ status: "failed", errorReason: "source_unavailable" });
    expect(absent.error).toMatch(/journalctl is not installed/);
    says(fake, [], 'echo "No journal files were found." >&2');
    const empty = await overRest(app, "read_system_logs");
    expect(empty.error).toMatch(/keeps no journal/);
    fake.logFile(`${new Date(at).toISOString()} host cron[1]: job done\n`);
    const { result } = await overRest(app, "read_system_logs", { since: "1h" });
    expect(result.entries).toMatchObject([{ message: "cron[1]: job done" }]);
  });

  test("the server's own log is still what system/logs reads by itself", async () => {
    const fake = machine();
    says(fake, [line("of the system", 6)]);
    const app = await start();
    expect((await overRest(app, "system/logs")).result.entries).toEqual([]);
    const own = await overRest(app, "read_system_logs", { source: "ostiary" });
    expect(own.result.entries).toEqual([]);
  });
});

describe("item 6, R267, R269: web search", () => {
  test("without set-up one line says how to get one, on every door", async () => {
    const app = await start();
    const line =
      "set OSTIARY_SEARCH_PROVIDER=duckduckgo (no key needed), or see search.provider in docs/config.md";
    const { content, isError } = await overMcp(app, "web_search", { query: "doors" });
    expect(isError).toBe(true);
    expect(content[0].text).toContain(line);
    const rest = await overRest(app, "web/search", { query: "doors" });
    expect(rest.remedy).toBe(line);
    expect(line).not.toContain("\n");
  });

  test("with that one line DuckDuckGo answers, without a key", async () => {
    const page = `<div class="result results_links results_links_deep web-result ">
<h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.org%2Fdoors&amp;rut=1">All about <b>doors</b></a></h2>
<a class="result__snippet" href="//duckduckgo.com/l/?uddg=x">They open &amp; close.</a></div>`;
    open.web = await openWeb({
      hosts: ["html.duckduckgo.com"],
      answer: (_req, res) => (res.writeHead(200, { "content-type": "text/html" }).end(page), true),
    });
    const app = await start({ "search.provider": "duckduckgo" });
    const { structuredContent } = await overMcp(app, "web_search", { query: "doors" });
    expect(structuredContent).toMatchObject({
      provider: "duckduckgo",
      results: [
        {
          rank: 1,
          title: "All about doors",
          url: "https://example.org/doors",
          snippet: "They open & close.",
          site: "example.org",
        },
      ],
    });
    expect(open.web.seen[0]).toMatch(/^html\.duckduckgo\.com GET \/html\/\?q=doors/);
  });
});
