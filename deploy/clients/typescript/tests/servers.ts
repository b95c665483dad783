/** Starts one Maillatch server and one sign-up site for all browser tests of a run. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { Server } from "../src/testing.js";

const SITE =
  process.env["SIGNUP_SITE"] ??
  fileURLToPath(new URL("../../../../tests/signup/site.mjs", import.meta.url));

export default async function servers(): Promise<() => Promise<void>> {
  const server = await Server.start();
  const secrets = readFileSync(join(server.directory, "data", "dev.env"), "utf8");
  const secret = /^MAILLATCH_SIGNING_SECRET=(.*)$/m.exec(secrets)?.[1] ?? "";
  const site = spawn(process.execPath, [SITE], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { MAILLATCH_URL: server.url, MAILLATCH_SIGNING_SECRET: secret },
  });
  const url = await new Promise<string>((resolve, reject) => {
    site.once("exit", () => reject(new Error("the site did not start")));
    site.stdout.once("data", (line: Buffer) => resolve(line.toString().trim()));
  });
  process.env["SITE_URL"] = url;
  process.env["MAILLATCH_URL"] = server.url;
  process.env["MAILLATCH_KEY"] = server.key;
  return async () => {
    site.kill();
    await server.stop();
  };
}
