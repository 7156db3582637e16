// The process power in a workspace of very many files.
import { chmodSync, chownSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HAS_BOX } from "../../../../test/fixtures/programs.ts";
import { openBench, type Bench } from "../../../../test/fixtures/tool-bench.ts";
import exec from "../../../tools/shell/exec.ts";

const CAN = HAS_BOX && process.getuid?.() === 0;
const UID = 12_345;

describe.skipIf(!CAN)("a workspace of an ordinary user", { timeout: 300_000 }, () => {
  let bench: Bench;
  const at = (...names: string[]): string => join(bench.workspace, ...names);
  const sh = (script: string) => {
    const { process: power } = bench.powersFor(["process"], { ...bench.call(), tool: exec });
    if (!power) throw new Error("no power");
    return power.run({ argv: ["sh", "-c", script], workspace: "rw" });
  };

  beforeAll(async () => {
    bench = await openBench();
    chmodSync(bench.root, 0o711);
    chownSync(bench.workspace, UID, UID);
  });
  afterAll(() => bench.close());

  test("A1: beside very many files, protected names are still found before and after", async () => {
    await sh("mkdir -p many zz; cd many; seq 1 50100 | xargs touch");
    writeFileSync(at("zz/.env.local"), "KEY=kept");
    chownSync(at("zz/.env.local"), UID, UID);
    const ended = await sh("echo KEY=changed > zz/.env.local; echo x > zz/.env; echo y > zz/plain");
    expect(readFileSync(at("zz/.env.local"), "utf8")).toBe("KEY=kept");
    expect(ended.refused).toEqual([{ path: "zz/.env", reason: "path_forbidden" }]);
    expect([existsSync(at("zz/.env")), existsSync(at("zz/plain"))]).toEqual([false, true]);
    rmSync(at("many"), { recursive: true });
  });
});
