// Every flow runs twice: with scripts, and without. One server at a time is enough for two cores.
import { defineConfig } from "@playwright/test";

const chromium = process.env.STINT_CHROMIUM ?? "/usr/bin/chromium";

export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  workers: 1,
  // A test that passes only the second time has failed.
  retries: 0,
  timeout: 90_000,
  expect: { timeout: 10_000 },
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    locale: "en-GB",
    timezoneId: "Asia/Kolkata", // no place of ours: times shown are the server's, never the browser's
    actionTimeout: 10_000,
    navigationTimeout: 20_000,
    trace: "retain-on-failure",
    launchOptions: {
      executablePath: chromium,
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
  projects: [
    { name: "scripts" },
    { name: "no scripts", grepInvert: /@once/, use: { javaScriptEnabled: false } },
  ],
});
