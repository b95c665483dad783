/**
 * Fixtures for Playwright: one attempt for each test, so tests may run in parallel.
 *
 * ```ts
 * import { expect, test } from "maillatch/playwright";
 *
 * test("sign-up", async ({ page, attempt }) => {
 *   await page.getByLabel("E-mail").fill(attempt.address);
 *   await page.getByRole("button", { name: "Send code" }).click();
 *   await page.getByLabel("Code").fill((await attempt.code()).value);
 * });
 * ```
 */
import { test as base } from "@playwright/test";

import { type Attempt, type AttemptOptions, Maillatch } from "./client.js";

export { expect } from "@playwright/test";

interface MaillatchFixtures {
  /** An attempt of this test alone; it is finished when the test ends. */
  attempt: Attempt;
  /** How it is opened: `test.use({ attemptOptions: { kind: "link" } })`. */
  attemptOptions: AttemptOptions;
  /** The client; by default the server that the environment names. */
  maillatch: Maillatch;
}

export const test = base.extend<MaillatchFixtures>({
  attemptOptions: [{}, { option: true }],
  maillatch: async ({}, use) => {
    await use(new Maillatch());
  },
  attempt: async ({ maillatch, attemptOptions }, use, info) => {
    const attempt = await maillatch.attempt(attemptOptions);
    await use(attempt);
    await attempt.finish(info.status === info.expectedStatus ? undefined : "failed");
  },
});
