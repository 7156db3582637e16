import { defineConfig } from "vitest/config";

// Tests against real servers: `npm run test:services` starts them.
export default defineConfig({
  test: {
    include: ["test/services/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
