import { defineConfig } from "vitest/config";

// Tests against real servers: `npm run test:services` starts them.
export default defineConfig({
  test: {
    include: ["test/services/**/*.test.ts"],
    // As in vitest.config.ts.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    // Where others share the machine, one attempt may come too late; what is broken fails twice, and a second try is
    // told.
    retry: process.env["CI"] ? 1 : 0,
    // The usual second is too short on a busy machine; what holds is seen at once all the same.
    expect: { poll: { timeout: 15_000 } },
  },
});
