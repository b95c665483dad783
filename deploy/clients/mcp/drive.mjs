// Drives both transports with the official TypeScript client.
//
// The environment names the server (MAILLATCH_URL, MAILLATCH_KEY), its binary
// (MAILLATCH_BIN) and the sign-up site (SITE_URL).

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { MAILLATCH_URL, MAILLATCH_KEY, MAILLATCH_BIN, SITE_URL } = process.env;
const TOOLS = [
  "start_attempt",
  "wait_for_code",
  "wait_for_link",
  "request_resend",
  "explain_attempt",
  "finish_attempt",
];

const transports = {
  stdio: () =>
    new StdioClientTransport({
      command: MAILLATCH_BIN,
      args: ["mcp"],
      env: { MAILLATCH_URL, MAILLATCH_KEY },
    }),
  http: () =>
    new StreamableHTTPClientTransport(new URL("mcp", `${MAILLATCH_URL.replace(/\/*$/, "")}/`), {
      requestInit: { headers: { Authorization: `Bearer ${MAILLATCH_KEY}` } },
    }),
};

async function signUp(email, by) {
  const answer = await fetch(`${SITE_URL}/sign-up`, {
    method: "POST",
    body: new URLSearchParams({ email, by }),
  });
  assert(answer.ok, answer.status);
}

async function drive(client) {
  const call = async (name, args, options) =>
    (await client.callTool({ name, arguments: args }, undefined, options)).structuredContent;
  const start = (wish) => call("start_attempt", { reference: randomUUID(), ...wish });

  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), TOOLS);

  const { attempt_id, address } = await start({});
  assert.equal((await call("wait_for_code", { attempt_id, timeout_s: 0 })).status, "pending");
  await signUp(address, "code");
  const found = await call("wait_for_code", { attempt_id, timeout_s: 50 });
  assert.match(found.code, /^\d{6}$/);
  const again = Array.from({ length: 10 }, () => call("wait_for_code", { attempt_id }));
  for (const one of await Promise.all(again)) assert.deepEqual(one, found);
  assert.equal((await call("explain_attempt", { attempt_id })).status, "consumed");
  const ended = await call("finish_attempt", { attempt_id, outcome: "succeeded" });
  assert.equal(ended.status, "finished");

  const link = await start({ kind: "link", link_hosts: ["app.example.com"] });
  await signUp(link.address, "link");
  const url = await call("wait_for_link", { attempt_id: link.attempt_id, timeout_s: 50 });
  assert.match(url.url, /^http/);

  const seen = [];
  const waiting = await start({});
  const wait = { attempt_id: waiting.attempt_id, timeout_s: 6 };
  await call("wait_for_code", wait, { onprogress: (progress) => seen.push(progress) });
  assert.equal(seen[0].total, 6);

  const lost = await call("wait_for_code", { attempt_id: "att_0", timeout_s: 0 });
  assert.equal(lost.status, "not_found");
}

for (const [name, transport] of Object.entries(transports)) {
  const client = new Client({ name: "drive", version: "1" });
  await client.connect(transport());
  await drive(client);
  await client.close();
  console.log(`typescript ${name}: ok`);
}
