// A whole app for the corpora: the gate is complete, but nobody is asked and nothing is counted, so that what refuses
// is the guard and not a window or a person who does not answer.
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { JsonObject, Outcome } from "../../src/contract/call.ts";
import type { EgressOptions } from "../../src/reach/egress/guard.ts";
import type { Tool } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";

export interface CorpusApp {
  /** The folder that holds everything; the workspace lies a few folders down. */
  readonly root: string;
  readonly workspace: string;
  readonly app: StartedApp;
  has(tool: string): boolean;
  call(tool: string, input: JsonObject): Promise<Outcome>;
  close(): Promise<void>;
}

const ATTEMPTS = 10;
const SHIPPED = resolve(import.meta.dirname, "../../governance");

export interface CorpusAppOptions {
  /** The internet the app sees. */
  readonly egress?: EgressOptions;
  /** Further texts of tools.yaml to replace. */
  readonly tools?: readonly (readonly [string | RegExp, string])[];
  /** Further tools of its own. */
  readonly nativeTools?: readonly Tool[];
  readonly listen?: boolean;
  readonly flags?: Readonly<Record<string, string>>;
}

export async function openCorpusApp(options: CorpusAppOptions = {}): Promise<CorpusApp> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "ostiary-corpora-")));
  const workspace = join(root, "a/b/c/workspace");
  mkdirSync(workspace, { recursive: true });
  const governance = join(root, "governance");
  cpSync(SHIPPED, governance, { recursive: true });
  change(join(governance, "tools.yaml"), [
    [
      "dangerous: { NORMAL: approval } # unless every path",
      "dangerous: { NORMAL: run } # unless every path",
    ],
    ...(options.tools ?? []),
  ]);
  change(join(governance, "modes.yaml"), [
    ["action: warn", "action: off"],
    ["action: act", "action: off"],
    [/\n {4}throttle: .*/g, ""],
  ]);
  const flags = {
    workspace,
    governance,
    "rateLimit.enabled": "false",
    "execution.maxQueued": "10000",
    ...options.flags,
  };
  const app = await startApp({
    listen: options.listen ?? false,
    ...(options.nativeTools ? { tools: options.nativeTools } : {}),
    flags,
    dataDir: join(root, "data"),
    ...(options.egress ? { egress: options.egress } : {}),
  });
  const caller = await app.callerOf(app.adminKey);
  const { engine, registry } = app.doors;
  return {
    root,
    workspace,
    app,
    has: (tool) => registry.get(tool) !== null && registry.get(tool) !== undefined,
    async call(name, input) {
      // A stage that was too slow refuses and says so: on a busy machine that is an answer about the machine.
      for (let attempt = 1; ; attempt++) {
        const outcome = await engine.execute(caller, { name, arguments: input, entry: "rest" });
        if (outcome.error?.reason !== "engine_unavailable" || attempt >= ATTEMPTS) return outcome;
        await new Promise((resolve) => setTimeout(resolve, 100 * attempt));
      }
    },
    async close() {
      await app.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function change(file: string, pairs: readonly (readonly [string | RegExp, string])[]): void {
  let text = readFileSync(file, "utf8");
  for (const [from, to] of pairs) {
    const changed = text.replaceAll(from, to);
    if (changed === text) throw new Error(`${file} no longer holds ${String(from)}`);
    text = changed;
  }
  writeFileSync(file, text);
}

/** Work on all items, a few at a time. */
export async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of left) await work(item);
    }),
  );
}
