// The examples of every tool, run on a bench of all that they speak of: pages, models, registries, a shop.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  browserExamples,
  browserPage,
  type BrowserExamples,
} from "../../test/fixtures/browser-examples.ts";
import { createShop } from "../../test/fixtures/database.ts";
import { prepareFileExample } from "../../test/fixtures/file-examples.ts";
import { openModelServer, PNG, wav } from "../../test/fixtures/models.ts";
import { HAS_BOX } from "../../test/fixtures/programs.ts";
import { makeProject } from "../../test/fixtures/project.ts";
import { REGISTRIES, REGISTRY_RULES, registryAnswer } from "../../test/fixtures/registry.ts";
import { openBench, type Bench } from "../../test/fixtures/tool-bench.ts";
import { openWeb } from "../../test/fixtures/web.ts";
import { prepareExample, WORK, workExamples } from "../../test/fixtures/work-examples.ts";
import type { PowerName } from "../contract/powers.ts";
import type { Tool } from "../contract/tool.ts";

/** What answers as another tool does has no schema of its own. */
export const PASSES_ON = ["system/call_tool"];

interface World {
  readonly bench: Bench;
  readonly examples: BrowserExamples;
  close(): Promise<void>;
}

async function openWorld(): Promise<World> {
  // Outside the bench, so that it is there when the bench opens.
  const shop = mkdtempSync(join(tmpdir(), "ostiary-shop-"));
  createShop(join(shop, "shop.db"));
  const databases = { shop: { url: `sqlite:${join(shop, "shop.db")}`, readOnly: false } };
  const registry = registryAnswer();
  const web = await openWeb({
    answer: (req, res, body) => registry(req, res) || browserPage(req, res, body),
    // The model provider is one of the configuration, not of the web.
    direct: (address) => address === "127.0.0.1",
  });
  const models = await openModelServer();
  const bench = await openBench({
    flags: {
      databases: JSON.stringify(databases),
      "browser.maxSessionsPerCaller": "20",
      models: models.config,
      "search.provider": "searxng",
      "search.url": "https://search.example.org/",
      ...REGISTRIES,
    },
    rules: REGISTRY_RULES,
    egress: web.egress,
    ...WORK,
  });
  const [browser, work] = [browserExamples(bench), workExamples(bench)];
  mkdirSync(join(bench.workspace, "src"));
  writeFileSync(join(bench.workspace, "README.md"), "# Read me\n");
  writeFileSync(join(bench.workspace, "server.log"), "started\n");
  writeFileSync(join(bench.workspace, "src/main.ts"), "export {};\n".repeat(60));
  makeProject(bench.workspace);
  writeFileSync(join(bench.workspace, "lighthouse.png"), PNG);
  writeFileSync(join(bench.workspace, "memo.wav"), wav());
  return {
    bench,
    examples: { ...browser, of: async (tool) => work(await browser.of(tool)) },
    async close() {
      await bench.close();
      await web.close();
      await models.close();
      rmSync(shop, { recursive: true });
    },
  };
}

export function exampleSuite(tools: readonly Tool[]): void {
  const ajv = new Ajv2020({ strict: true, allErrors: true });
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.close());

  // More than a tool's own limit: on a busy machine Chromium alone may take half a minute to start.
  const each = tools.map((tool) => [tool.name, tool] as const);
  describe.each(each)("%s", { timeout: 60_000 }, (_name, tool) => {
    // Without bubblewrap such a tool refuses to run.
    const runs = test.skipIf(tool.requiresSandbox && !HAS_BOX);
    beforeEach(async () => {
      prepareFileExample(world.bench, tool);
      await prepareExample(world.bench, tool);
    });

    runs(
      "each example fits the schema, its output too, with the declared powers alone",
      async () => {
        const { bench, examples } = world;
        const input = ajv.compile(tool.inputSchema);
        const output = ajv.compile(tool.outputSchema ?? PASSES_ON.includes(tool.name));
        const needs = tool.native?.needs ?? [];
        const touched = new Set<PowerName>();
        const given = await examples.of(tool);
        for (const example of given) {
          input(example);
          expect(input.errors).toBeNull();
          const result = await bench.run(tool, example, {
            watch(powers) {
              expect(Object.keys(powers).sort()).toEqual([...needs].sort());
              return new Proxy(powers, {
                get(target, name) {
                  touched.add(name as PowerName);
                  return target[name as PowerName];
                },
              });
            },
          });
          output(JSON.parse(JSON.stringify(result)));
          expect(output.errors).toBeNull();
          // Nothing that JSON would drop or change.
          expect(JSON.parse(JSON.stringify(result))).toEqual(result);
        }
        if (given.length > 0) expect([...touched].sort()).toEqual([...needs].sort());
      },
    );

    test("a signal that has fired ends the call within 100 ms", async () => {
      const before = performance.now();
      const signal = AbortSignal.abort("user");
      await world.bench.run(tool, tool.examples[0] ?? {}, { signal }).catch(() => undefined);
      // Ten times the promise: the machine may be busy with others.
      expect(performance.now() - before).toBeLessThan(1_000);
    });
  });
}
