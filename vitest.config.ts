import { join } from "node:path";
import { defineConfig } from "vitest/config";

// Programs and threads that tests start read the same sources again and again: Node compiles each of them once. Not for
// coverage, which is less exact with it.
if (!process.argv.some((word) => word.startsWith("--coverage")))
  process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/node");

const TESTS = ["src/**/*.test.ts", "packages/*/src/**/*.test.ts", "test/**/*.test.ts"];
const SLOW = "**/*.slow.test.ts";
/** The web console in Chromium. */
const CONSOLE = "test/console/**/*.test.ts";
/** Measures what a person would feel, so nothing runs beside it. */
const CONSOLE_SPEED = "test/console/performance.test.ts";
/** Servers show the console: it is built where that is missing or older than its sources. */
const BUILD = ["test/fixtures/console-build.ts"];
const ELSEWHERE = ["test/services/**", "test/faults/**", "test/console/**", "node_modules/**"];

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: "usual",
          include: TESTS,
          exclude: [...ELSEWHERE, SLOW],
          globalSetup: BUILD,
        },
      },
      // Real programs started dozens of times, Chromium, corpora, kill loops: `npm run test:slow`.
      {
        extends: true,
        test: {
          name: "slow",
          include: [SLOW],
          exclude: ELSEWHERE,
          globalSetup: BUILD,
          isolate: true,
          testTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "console",
          include: [CONSOLE],
          exclude: [CONSOLE_SPEED],
          globalSetup: BUILD,
          isolate: true,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "console-speed",
          include: [CONSOLE_SPEED],
          globalSetup: BUILD,
          isolate: true,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
    // As in production, Node itself loads the sources; nothing has to be transformed first.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Files share a process, so that what they import is loaded once: no module may keep state between two apps. A hook
    // at the top of a module that is no test would be set for one file only.
    isolate: false,
    testTimeout: 20_000,
    hookTimeout: 30_000,
    // Most tests wait more than they compute.
    maxWorkers: 3,
    // Where others share the machine, one attempt may come too late; what is broken fails twice, and a second try is
    // told.
    retry: process.env["CI"] ? 1 : 0,
    // The usual second is too short on a busy machine; what holds is seen at once all the same.
    expect: { poll: { timeout: 15_000 } },
    coverage: {
      include: [
        "src/core/{engine,gate,identity,record}/**",
        "src/governance/{limits,approvals}/**",
        "src/governance/rules/arguments/**",
      ],
      exclude: ["**/*.test.ts"],
      // Held by `npm run test:coverage`: what decides, records and knows the caller.
      thresholds: {
        "src/core/gate/**": { branches: 100 },
        "src/core/engine/**": { branches: 90 },
        "src/core/record/**": { branches: 90 },
        "src/core/identity/**": { branches: 90 },
        "src/governance/rules/arguments/**": { branches: 95 },
        "src/governance/limits/**": { branches: 95 },
        "src/governance/approvals/**": { branches: 100 },
      },
    },
  },
});
