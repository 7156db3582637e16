// Decisions per second of our Rego evaluator beside opa-wasm and OPA over HTTP, on the same policies in one run.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "@ostiary/rego";
import { ROOT } from "./process.ts";
import { median, pause, type BenchOptions, type Row } from "./row.ts";

interface Subject {
  readonly label: string;
  readonly source: string;
  /** The rule asked for, as data path and as entry point. */
  readonly path: string;
  readonly input: unknown;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Makes one decision; throws unless it is "allow". */
type Decide = () => void | Promise<void>;

const RULES = 100;
const HTTP_TARGET = 50;
const COMPILE_TARGET_MS = 20;

const INPUT = {
  user_id: "u-1",
  tool_name: "tool_87",
  action: "execute",
  roles: ["tool_user", "role_87"],
  context: { tenant_id: "t-1" },
};

function subjects(): Subject[] {
  return [
    {
      label: "default policy",
      source: readFileSync(join(ROOT, "governance/policies/tools.rego"), "utf8"),
      path: "ostiary/tools/allow",
      input: INPUT,
      data: { tools: { tool_87: { enabled: true } } },
    },
    {
      label: `${RULES} rules`,
      source: manyRules(),
      path: "bench/allow",
      input: INPUT,
      data: {},
    },
  ];
}

function manyRules(): string {
  const rules = Array.from({ length: RULES }, (_, i) =>
    [
      "allow if {",
      `\tinput.tool_name == "tool_${i}"`,
      `\t"role_${i}" in input.roles`,
      '\tinput.action in {"view", "execute"}',
      '\tstartswith(input.context.tenant_id, "t-")',
      "}",
    ].join("\n"),
  );
  return ["package bench", "default allow := false", ...rules].join("\n\n");
}

export async function run(options: BenchOptions): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "ostiary-rego-"));
  try {
    const opa = findOpa();
    if (opa === undefined)
      options.note("skipped opa-wasm and OPA: no `opa` (scripts/services build opa)");
    const rows: Row[] = [];
    for (const subject of subjects()) {
      rows.push(...(await compared(subject, { opa, folder, options })));
    }
    return [...rows, compileTime(options)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Bench {
  readonly opa: string | undefined;
  readonly folder: string;
  readonly options: BenchOptions;
}

async function compared(subject: Subject, bench: Bench): Promise<Row[]> {
  const { label } = subject;
  const mine = ourDecision(subject);
  if (bench.opa === undefined) {
    const [ours = 0] = await rates([mine], bench.options);
    return [row(`${label}, ours`, ours, "decisions/s")];
  }
  const wasm = await wasmDecision(subject, bench.opa, bench);
  const server = await startServer(subject, bench.opa, bench.folder);
  try {
    const [ours = 0, http = 0, speed] = await rates(
      [mine, server.decide, ...(wasm ? [wasm] : [])],
      bench.options,
    );
    return [
      row(`${label}, ours`, ours, "decisions/s"),
      ...(speed === undefined
        ? []
        : [
            row(`${label}, opa-wasm`, speed, "decisions/s"),
            { ...row(`${label}, ours / opa-wasm`, ours / speed, "x"), target: 1 },
          ]),
      row(`${label}, OPA over HTTP`, http, "decisions/s"),
      { ...row(`${label}, ours / HTTP`, ours / http, "x"), target: HTTP_TARGET },
    ];
  } finally {
    server.stop();
  }
}

const row = (name: string, value: number, unit: string): Row => ({
  name: `rego, ${name}`,
  value: Math.round(value * 100) / 100,
  unit,
  better: "higher",
});

/** Medians of rounds, after one that only warms up; all take turns, so that what else runs slows each of them alike. */
async function rates(deciders: readonly Decide[], { quick }: BenchOptions): Promise<number[]> {
  const measured = deciders.map((): number[] => []);
  for (let round = 0; round <= (quick ? 3 : 5); round++) {
    for (const [i, decide] of deciders.entries()) {
      const rate = await oneRound(decide, quick ? 200 : 1_000);
      if (round > 0) measured[i]?.push(rate);
    }
  }
  return measured.map(median);
}

async function oneRound(decide: Decide, roundMs: number): Promise<number> {
  let count = 0;
  const began = performance.now();
  for (let now = began; now - began < roundMs; now = performance.now()) {
    // Synchronous deciders are not slowed down by a promise for each decision.
    for (let i = 0; i < 16; i++, count++) {
      const pending = decide();
      if (pending !== undefined) await pending;
    }
  }
  return (count * 1000) / (performance.now() - began);
}

function ourDecision({ source, path, input, data }: Subject): Decide {
  const compiled = compile({ "policy.rego": source }, { data });
  if (!compiled.ok) throw new Error("the policy does not compile");
  const query = compiled.policy.prepare(`data.${path.replaceAll("/", ".")}`);
  return () => {
    const result = query.evaluate({ input });
    if (!result.ok || result.value !== true) throw new Error("our evaluator refused");
  };
}

function compileTime({ quick }: BenchOptions): Row {
  const source = manyRules();
  const times: number[] = [];
  const warm = 30;
  for (let i = 0; i < warm + (quick ? 10 : 50); i++) {
    const began = performance.now();
    compile({ "policy.rego": source });
    if (i >= warm) times.push(performance.now() - began);
  }
  const value = Math.round(median(times) * 100) / 100;
  return {
    name: `rego, compile ${RULES} rules, warm`,
    value,
    unit: "ms",
    target: COMPILE_TARGET_MS,
    better: "lower",
  };
}

function findOpa(): string | undefined {
  const candidate = process.env["OPA"] ?? builtOpa() ?? "opa";
  try {
    execFileSync(candidate, ["version"], { stdio: "ignore" });
    return candidate;
  } catch {
    return undefined;
  }
}

/** What the tests against real servers have built. */
function builtOpa(): string | undefined {
  const services = join(ROOT, "scripts/services");
  const found = spawnSync(services, ["locate", "opa"], { encoding: "utf8" });
  return found.status === 0 ? found.stdout.trim() : undefined;
}

interface WasmPolicy {
  setData(data: object): void;
  evaluate(input: unknown): readonly { readonly result: unknown }[];
}

interface WasmModule {
  loadPolicy(wasm: Uint8Array): Promise<WasmPolicy>;
}

/** Not a static import: without the package this part is left out, visibly. */
const WASM_PACKAGE = "@open-policy-agent/opa-wasm";

async function wasmDecision(
  subject: Subject,
  opa: string,
  bench: Bench,
): Promise<Decide | undefined> {
  let module: WasmModule;
  try {
    const loaded = (await import(WASM_PACKAGE)) as WasmModule & { readonly default?: WasmModule };
    module = loaded.default ?? loaded;
  } catch {
    bench.options.note(`skipped opa-wasm: ${WASM_PACKAGE} is not installed`);
    return undefined;
  }
  const source = join(bench.folder, "policy.rego");
  const bundle = join(bench.folder, "bundle.tar.gz");
  writeFileSync(source, subject.source);
  execFileSync(opa, ["build", "-t", "wasm", "-e", subject.path, "-o", bundle, source]);
  const wasm = execFileSync("tar", ["-xzOf", bundle, "/policy.wasm"], {
    maxBuffer: 2 ** 26,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const policy = await module.loadPolicy(wasm);
  policy.setData(subject.data);
  return () => {
    if (policy.evaluate(subject.input)[0]?.result !== true) throw new Error("opa-wasm refused");
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

async function startServer(
  subject: Subject,
  opa: string,
  folder: string,
): Promise<{ decide: Decide; stop: () => void }> {
  const source = join(folder, "served.rego");
  const data = join(folder, "data.json");
  writeFileSync(source, subject.source);
  writeFileSync(data, JSON.stringify(subject.data));
  const base = `http://127.0.0.1:${await freePort()}`;
  const args = ["run", "--server", "--log-level", "error", "--addr", base.slice("http://".length)];
  const child = spawn(opa, [...args, source, data], { stdio: "ignore" });
  const stop = (): void => {
    child.kill();
  };
  for (let tries = 0; ; tries++) {
    const up = await fetch(`${base}/health`).then(
      (response) => response.ok,
      () => false,
    );
    if (up) break;
    if (tries > 100) {
      stop();
      throw new Error("OPA did not start");
    }
    await pause(100);
  }
  const body = JSON.stringify({ input: subject.input });
  const decide = async (): Promise<void> => {
    const response = await fetch(`${base}/v1/data/${subject.path}`, { method: "POST", body });
    const answer = (await response.json()) as { readonly result?: unknown };
    if (answer.result !== true) throw new Error("OPA refused");
  };
  return { decide, stop };
}
