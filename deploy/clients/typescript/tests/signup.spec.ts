/** Sign-up by code and by link in a real browser, ten of each in parallel. */
import { expect, test } from "../src/playwright.js";

const site = () => process.env["SITE_URL"] ?? "";

for (let n = 1; n <= 10; n += 1) {
  test(`sign-up by code ${n}`, async ({ page, attempt }) => {
    await page.goto(site());
    await page.getByLabel("E-mail").fill(attempt.address);
    await page.getByRole("button", { name: "Send code" }).click();
    await page.getByLabel("Code").fill((await attempt.code()).value);
    await page.getByRole("button", { name: "Continue" }).click();
    await expect(page.getByRole("heading")).toHaveText("Welcome");
  });
}

test.describe("by link", () => {
  test.use({ attemptOptions: { kind: "link", links: ["app.example.com"] } });

  for (let n = 1; n <= 10; n += 1) {
    test(`sign-up by link ${n}`, async ({ page, attempt }) => {
      await page.goto(site());
      await page.getByLabel("E-mail").fill(attempt.address);
      await page.getByRole("button", { name: "Send link" }).click();
      const { url } = await attempt.link();
      // The site calls itself app.example.com in its mail and runs on this machine.
      await page.goto(url.replace("https://app.example.com", site()));
      await expect(page.getByRole("heading")).toHaveText("Welcome");
    });
  }
});

test("a resend replaces the first code", async ({ page, attempt }) => {
  await page.goto(site());
  await page.getByLabel("E-mail").fill(attempt.address);
  await page.getByRole("button", { name: "Send code" }).click();
  const first = await attempt.code();
  await attempt.resend();
  await page.getByRole("button", { name: "Send again" }).click();
  const second = await attempt.code();
  expect(second.value).not.toBe(first.value);
  await page.getByLabel("Code").fill(second.value);
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("heading")).toHaveText("Welcome");
});
