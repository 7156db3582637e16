import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "packages/*/src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["test/services/**", "test/faults/**", "node_modules/**"],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
    // Where others share the machine, one attempt may come too late; what is broken fails twice, and a second try is told.
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
