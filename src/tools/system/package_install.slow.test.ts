import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { REGISTRIES, REGISTRY_RULES, registryAnswer } from "../../../test/fixtures/registry.ts";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import { openWeb, type Web } from "../../../test/fixtures/web.ts";
import python from "../shell/python.ts";
import script from "../shell/script.ts";
import tool from "./package_install.ts";
import { HAS_BOX } from "../../../test/fixtures/programs.ts";

const HAS = HAS_BOX && existsSync("/usr/bin/npm") && existsSync("/usr/bin/python3");

describe.skipIf(!HAS)("system/package_install", { timeout: 120_000 }, () => {
  let web: Web;
  let bench: Bench;
  beforeAll(async () => {
    web = await openWeb({ answer: registryAnswer() });
    bench = await openBench({ flags: REGISTRIES, rules: REGISTRY_RULES, egress: web.egress });
  });
  afterAll(async () => {
    await bench.close();
    await web.close();
  });

  test("a package of npm can be required afterwards, and its install script did not run", async () => {
    const done = await bench.run(tool, { manager: "npm", name: "left-pad", version: "1.3.0" });
    expect(done).toMatchObject({
      manager: "npm",
      name: "left-pad",
      version: "1.3.0",
      integrity: expect.stringMatching(/^sha512-/) as string,
      path: "/packages/npm/node_modules/left-pad",
      added: ["left-pad@1.3.0"],
    });
    expect(existsSync(join(bench.dataDir, "packages/tenant/npm/RAN"))).toBe(false);
    expect(bench.notes.at(-1)).toMatchObject({ hosts: ["packages.example.org"], untrusted: true });
    const used = await bench.run(script, {
      interpreter: "node",
      script: 'console.log(require("left-pad")("a", 3))',
    });
    expect(used).toMatchObject({ stdout: "  a\n", exitCode: 0 });
  });

  test("a package of pip can be imported afterwards, and the one of npm is still there", async () => {
    const done = await bench.run(tool, { manager: "pip", name: "tinypad", version: "1.0.0" });
    expect(done).toMatchObject({
      integrity: expect.stringMatching(/^sha256-[0-9a-f]{64}$/) as string,
      added: ["tinypad@1.0.0"],
    });
    const used = await bench.run(python, {
      script: 'import tinypad; print(tinypad.pad("a", 3))',
      packages: ["tinypad"],
    });
    expect(used).toMatchObject({ stdout: "  a\n", exitCode: 0 });
    expect(
      existsSync(join(bench.dataDir, "packages/tenant/npm/node_modules/left-pad/index.js")),
    ).toBe(true);
  });

  test("another tenant does not see it", async () => {
    const fault = await bench.fault(
      python,
      { script: "1", packages: ["tinypad"] },
      { caller: { tenantId: "other" } },
    );
    expect(fault).toMatchObject({ reason: "package_missing" });
  });

  test.each([
    ["npm", "left-pad", "9.9.9"],
    ["npm", "no-such-thing", "1.0.0"],
    ["pip", "tinypad", "9.9.9"],
    ["pip", "no-such-thing", "1.0.0"],
  ])("%s %s %s is not found", async (manager, name, version) => {
    expect(await bench.fault(tool, { manager, name, version })).toMatchObject({
      reason: "package_not_found",
      remedy: expect.any(String) as string,
    });
  });

  test.each([
    "latest",
    "^1.0.0",
    "1.x",
    "*",
    ">=1",
    "1.0.0 || 2.0.0",
    "-1.0.0",
    "1.0.0;x",
    "$(id)",
  ])("the version %s is not exact", async (version) => {
    for (const manager of ["npm", "pip"])
      expect(await bench.fault(tool, { manager, name: "left-pad", version })).toMatchObject({
        reason: "version_not_exact",
      });
  });

  test.each([
    "--registry=http://evil",
    "../x",
    "git+ssh://x",
    "a b",
    "x@1",
    "/etc",
    "-r",
    "a;b",
    "$(id)",
    "@a",
  ])("%s is no name of a package", async (name) => {
    for (const manager of ["npm", "pip"])
      expect(await bench.fault(tool, { manager, name, version: "1.0.0" })).toMatchObject({
        code: "BAD_REQUEST",
      });
  });
});

describe.skipIf(!HAS)("registries that cannot be trusted or reached", { timeout: 120_000 }, () => {
  test.each(["npm", "pip"])("%s: an archive that is not what was promised", async (manager) => {
    const web = await openWeb({ answer: registryAnswer({ corrupt: true }) });
    const bench = await openBench({ flags: REGISTRIES, rules: REGISTRY_RULES, egress: web.egress });
    const name = manager === "npm" ? "left-pad" : "tinypad";
    const fault = await bench.fault(tool, {
      manager,
      name,
      version: manager === "npm" ? "1.3.0" : "1.0.0",
    });
    expect(fault).toMatchObject({ reason: "integrity_mismatch" });
    expect(existsSync(join(bench.dataDir, "packages/tenant"))).toBe(false);
    await bench.close();
    await web.close();
  });

  test("a registry that governance does not name is not reached", async () => {
    const web = await openWeb({ answer: registryAnswer() });
    const bench = await openBench({ flags: REGISTRIES, egress: web.egress });
    const fault = await bench.fault(tool, { manager: "npm", name: "left-pad", version: "1.3.0" });
    expect(fault).toMatchObject({ reason: "install_failed" });
    expect(web.dialled).toEqual([]);
    await bench.close();
    await web.close();
  });
});
