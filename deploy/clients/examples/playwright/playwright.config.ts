import { defineConfig } from "@playwright/test";

// Real Chromium, as the system installed it. MAILLATCH_REPEAT repeats each test.
export default defineConfig({
  testMatch: "*.spec.ts",
  fullyParallel: true,
  workers: Number(process.env["MAILLATCH_WORKERS"] ?? 4),
  repeatEach: Number(process.env["MAILLATCH_REPEAT"] ?? 1),
  timeout: 300_000,
  // A busy machine is slow; a page that never comes is a failure all the same.
  expect: { timeout: 120_000 },
  reporter: "line",
  use: {
    baseURL: process.env["SITE_URL"],
    launchOptions: {
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
