// Every kind of miss with the official TypeScript client, over both transports.
//
// The environment of drive.mjs, and besides: keys that lack a scope (READER_KEY), belong to
// another caller (OTHER_KEY) or are used up here (BUSY_KEY), and STALL_URL (stall.mjs).
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { call, connect, PATIENCE_MS, SERVER, signUp, start, transports } from "./session.mjs";

const { MAILLATCH_KEY, OTHER_KEY, READER_KEY, BUSY_KEY, STALL_URL } = process.env;

/** Waits until a wait for a code answers with a status and a next step. */
async function expect(client, { attempt_id }, status, next) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const told = await call(client, "wait_for_code", { attempt_id, timeout_s: 1 });
    if (told.status === status) {
      assert(told.next.includes(next), JSON.stringify(told));
      assert.equal(told.code, undefined);
      return told;
    }
    assert(Date.now() < deadline, `${status}: ${JSON.stringify(told)}`);
  }
}

async function misses(client, other) {
  await expect(client, await start(client), "pending", "wait_for_code again");

  const blocked = await start(client, { from: ["other.test"] });
  await signUp(blocked.address, "code");
  const why = await expect(client, blocked, "blocked", "start_attempt");
  assert.equal(why.reason, "sender_not_allowed");

  const empty = await start(client);
  await signUp(empty.address, "link");
  const found = await expect(client, empty, "no_artifact", "start_attempt");
  assert.equal(found.reason, "link_instead");

  await expect(client, await start(client, { expires_in_s: 1 }), "nothing_arrived", "start_attempt");

  const ended = await start(client);
  await call(client, "finish_attempt", { attempt_id: ended.attempt_id, outcome: "abandoned" });
  await expect(client, ended, "expired", "start_attempt");

  await expect(client, await start(client, { kind: "link" }), "other_kind", "wait_for_link");

  const taken = await start(client);
  await signUp(taken.address, "code");
  const { attempt_id } = taken;
  assert.equal((await call(other, "wait_for_code", { attempt_id, timeout_s: 50 })).status, "found");
  await expect(client, taken, "already_consumed", "request_resend");

  await expect(client, { attempt_id: "att_0" }, "not_found", "start_attempt");
  const wrong = await call(client, "start_attempt", { reference: "r", expires_in_s: 0 });
  assert.equal(wrong.status, "invalid");
  assert.match(wrong.next, /expires_in_s/);
}

async function forbidden(reader) {
  const told = await call(reader, "start_attempt", { reference: "r" });
  assert.equal(told.status, "forbidden");
  assert.match(told.next, /scope attempt/);
}

/** The server allows sixty changes of attempts in a minute. */
async function busy(client) {
  for (let n = 0; n < 1000; n += 1) {
    const told = await call(client, "start_attempt", { reference: randomUUID() });
    if (told.status === "pending") continue;
    assert.equal(told.status, "busy");
    assert.match(told.next, /same arguments/);
    return;
  }
  assert.fail("the server is never busy");
}

async function unhealthy(client) {
  const started = await start(client);
  await signUp(started.address, "code");
  const told = await expect(client, started, "unhealthy", "operator");
  assert.equal(told.reason, "worker");
}

/** Over HTTP, a wrong key or an unavailable server is an error of the transport. */
async function withoutAServer() {
  const { stdio } = transports;
  const wrong = await connect(stdio("mlk_wrong"));
  assert.equal((await call(wrong, "start_attempt", { reference: "r" })).status, "unauthorized");
  const away = await connect(stdio(MAILLATCH_KEY, "http://127.0.0.1:9"));
  assert.equal((await call(away, "start_attempt", { reference: "r" })).status, "unavailable");
  await Promise.all([wrong.close(), away.close()]);
}

const clients = [];
for (const transport of Object.values(transports)) {
  const keys = [MAILLATCH_KEY, OTHER_KEY, READER_KEY, BUSY_KEY];
  clients.push(await Promise.all(keys.map((key) => connect(transport(key)))));
}
for (const [client, other, reader, spent] of clients) {
  await Promise.all([misses(client, other), forbidden(reader), busy(spent)]);
}
// The only worker does nothing from here on.
const stalled = await fetch(`${STALL_URL}/stall?url=${SERVER}`, { method: "POST" });
assert(stalled.ok, await stalled.text());
await Promise.all(clients.map(([client]) => unhealthy(client)));
await Promise.all(clients.flat().map((client) => client.close()));
await withoutAServer();
console.log("typescript: every miss");
