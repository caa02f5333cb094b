import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      { extends: "./vite.config.ts", test: { name: "unit", include: ["tests/unit/**/*.test.ts"] } },
      {
        extends: "./vite.config.ts",
        test: {
          name: "browser",
          include: ["tests/browser/**/*.test.ts"],
          globalSetup: ["tests/browser/setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 20_000 } },
          fileParallelism: false,
        },
      },
    ],
  },
});
