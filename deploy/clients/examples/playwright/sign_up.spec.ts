/** Sign-up by code and by link with Playwright. Each test has its own attempt. */
import { expect, test } from "maillatch/playwright";

test("sign-up by code", async ({ page, attempt }) => {
  await page.goto("/");
  await page.getByLabel("E-mail").fill(attempt.address);
  await page.getByRole("button", { name: "Send code" }).click();
  await page.getByLabel("Code").fill((await attempt.code()).value);
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("heading")).toHaveText("Welcome");
});

test.describe("by link", () => {
  test.use({ attemptOptions: { kind: "link", links: ["app.example.com"] } });

  test("sign-up by link", async ({ page, attempt, baseURL }) => {
    await page.goto("/");
    await page.getByLabel("E-mail").fill(attempt.address);
    await page.getByRole("button", { name: "Send link" }).click();
    const { url } = await attempt.link();
    // The site calls itself app.example.com in its mail and runs on this machine.
    await page.goto(url.replace("https://app.example.com", baseURL ?? ""));
    await expect(page.getByRole("heading")).toHaveText("Welcome");
  });
});
