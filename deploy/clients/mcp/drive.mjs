// Drives both transports with the official TypeScript client.
//
// The environment names the server (MAILLATCH_URL, MAILLATCH_KEY), its binary
// (MAILLATCH_BIN) and the sign-up site (SITE_URL).
import assert from "node:assert/strict";
import { call, connect, SERVER, signUp, start, transports } from "./session.mjs";

const TOOLS = [
  "start_attempt",
  "wait_for_code",
  "wait_for_link",
  "request_resend",
  "explain_attempt",
  "finish_attempt",
];

/** How many values the server has given out for the first time. */
async function disclosures() {
  const lines = (await (await fetch(`${process.env.OPS_URL}/metrics`)).text()).split("\n");
  const counts = lines.filter((line) => line.includes("consumed_total") && line.includes('outcome="first"'));
  return counts.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

async function code(client) {
  const { attempt_id, address } = await start(client);
  const early = await call(client, "wait_for_code", { attempt_id, timeout_s: 0 });
  assert.equal(early.status, "pending");
  const before = await disclosures();
  const wait = () => call(client, "wait_for_code", { attempt_id, timeout_s: 50 });
  const waits = Array.from({ length: 50 }, wait);
  await signUp(address, "code");
  const found = await Promise.all(waits);
  assert.match(found[0].code, /^\d{6}$/);
  for (const one of found) assert.deepEqual(one, found[0]);
  assert.equal((await disclosures()) - before, 1);
  assert.equal((await call(client, "explain_attempt", { attempt_id })).status, "consumed");
  const ended = await call(client, "finish_attempt", { attempt_id, outcome: "succeeded" });
  assert.equal(ended.status, "finished");
}

async function link(client) {
  const started = await start(client, { kind: "link", link_hosts: ["app.example.com"] });
  await signUp(started.address, "link");
  const found = await call(client, "wait_for_link", { attempt_id: started.attempt_id, timeout_s: 50 });
  assert.match(found.url, /^http/);
}

async function progress(client) {
  const seen = [];
  const { attempt_id } = await start(client);
  const onprogress = (told) => seen.push(told);
  await call(client, "wait_for_code", { attempt_id, timeout_s: 6 }, { onprogress });
  assert.equal(seen[0].total, 6);
}

for (const [name, transport] of Object.entries(transports)) {
  const client = await connect(transport(process.env.MAILLATCH_KEY));
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), TOOLS);
  // One after the other: disclosures are counted.
  await code(client);
  await Promise.all([link(client), progress(client)]);
  await client.close();
  console.log(`typescript ${name}: ok`);
}
