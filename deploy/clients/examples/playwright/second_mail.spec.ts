/** What goes wrong at a site, and how a test gets on: resend, expiry, a limit of mails. */
import type { Page } from "@playwright/test";
import type { Attempt } from "maillatch";
import { expect, test } from "maillatch/playwright";

async function askForCode(page: Page, attempt: Attempt, path = "/"): Promise<void> {
  await page.goto(path);
  await page.getByLabel("E-mail").fill(attempt.address);
  await page.getByRole("button", { name: "Send code" }).click();
}

async function askAgain(page: Page, answer: string): Promise<void> {
  await page.getByRole("button", { name: "Send again" }).click();
  // The next page; typing into this one would be lost.
  await expect(page.getByRole("status")).toHaveText(answer);
}

async function typeIn(page: Page, code: string): Promise<void> {
  await page.getByLabel("Code").fill(code);
  await page.getByRole("button", { name: "Continue" }).click();
}

test("a resend replaces the first code", async ({ page, attempt }) => {
  await askForCode(page, attempt);
  const first = await attempt.code();
  await attempt.resend();
  await askAgain(page, "We have sent you mail 2 of 3.");
  const second = await attempt.code();
  await typeIn(page, first.value);
  await expect(page.getByRole("status")).toHaveText("This code is wrong.");
  await typeIn(page, second.value);
  await expect(page.getByRole("heading")).toHaveText("Welcome");
});

test("an expired code is replaced by a resend", async ({ page, attempt }) => {
  await askForCode(page, attempt, "/?lifetime=0");
  await typeIn(page, (await attempt.code()).value);
  await expect(page.getByRole("status")).toHaveText("This code has expired.");
  await attempt.resend();
  await askAgain(page, "We have sent you mail 2 of 3.");
  await typeIn(page, (await attempt.code()).value);
  await expect(page.getByRole("heading")).toHaveText("Welcome");
});

test.describe("a site that limits its mails", () => {
  test.use({ attemptOptions: { resends: 3 } });

  test("the last code is good when the site sends no more", async ({ page, attempt }) => {
    await askForCode(page, attempt);
    for (const number of [2, 3]) {
      await attempt.code();
      await attempt.resend();
      await askAgain(page, `We have sent you mail ${number} of 3.`);
    }
    const last = await attempt.code();
    await attempt.resend();
    await askAgain(page, "We send you no more mails. Wait an hour.");
    await typeIn(page, last.value);
    await expect(page.getByRole("heading")).toHaveText("Welcome");
  });
});
