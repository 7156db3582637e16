// The evaluator and a real OPA: generated policies and inputs, and the policies that ship.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compareWithOpa } from "../agreement/rego-compare.ts";

const url = process.env["OSTIARY_TEST_OPA"];
const bin = process.env["OSTIARY_TEST_OPA_BIN"];
/** A sample; `npm run agreement:rego` compares 20,000. */
const PAIRS = Number(process.env["OSTIARY_TEST_OPA_PAIRS"] ?? 2_000);
const SEED = Number(process.env["OSTIARY_TEST_OPA_SEED"] ?? 1);
const POLICIES = join(import.meta.dirname, "../../governance/policies");

if (url !== undefined && bin !== undefined) {
  describe("OPA", () => {
    test(`answers ${PAIRS} generated pairs of policy and input as we do`, async () => {
      const { compared, kinds, serverOnly, disagreed } = await compareWithOpa(
        { url, bin },
        PAIRS,
        SEED,
      );
      expect(disagreed.slice(0, 5)).toEqual([]);
      expect(serverOnly / compared).toBeLessThan(0.02);
      // The control: most pairs must have been evaluated, not merely refused by both.
      expect((kinds.get("value") ?? 0) / compared).toBeGreaterThan(0.5);
    }, 900_000);

    test("R038: the starter policies pass their tests under opa test, and are laid out as opa fmt has it", () => {
      const run = (...args: string[]) => spawnSync(bin, args, { encoding: "utf8" });
      const tested = run("test", POLICIES, "--format", "json");
      expect(tested.status, tested.stdout + tested.stderr).toBe(0);
      const results = JSON.parse(tested.stdout) as { fail?: boolean }[];
      expect(results.length).toBeGreaterThan(10);
      expect(results.filter(({ fail }) => fail)).toEqual([]);
      expect(run("check", "--strict", POLICIES).status).toBe(0);
      expect(run("fmt", "--list", POLICIES).stdout).toBe("");
    });
  });
} else {
  const start = "OSTIARY_TEST_OPA is not set: use `npm run test:services`";
  test.skipIf(!process.env["CI"])(`OPA: ${start}`, () => expect.unreachable(start));
}
