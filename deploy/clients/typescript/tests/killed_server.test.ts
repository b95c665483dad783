/** A server that is killed in the middle of a wait and started again on its port. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { type Maillatch, NothingArrived, Unreachable } from "maillatch";
import { Server } from "maillatch/testing";

const CODE = "Your verification code is 493817. It expires in ten minutes.";
/** How long a busy machine may take for what is over in a moment. */
const PATIENCE_MS = 180_000;

let server: Server;
let client: Maillatch;
beforeEach(async () => {
  server = await Server.start();
  client = server.client();
});
afterEach(async () => {
  await server.stop();
});

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await isSo())) {
    assert.ok(Date.now() < deadline, `never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Resolves when the server has a wait open. */
function untilWaiting(): Promise<void> {
  return until("a wait", async () => {
    const metrics = await (await fetch(`${server.opsUrl}/metrics`)).text();
    return metrics.includes("\nmaillatch_waiting 1\n");
  });
}

async function crash(): Promise<void> {
  await untilWaiting();
  await server.kill();
  await server.restart();
}

test("wait gets the code after the server was killed", async () => {
  const attempt = await client.attempt();
  const waiting = attempt.code({ timeout: PATIENCE_MS });
  await crash();
  await crash();
  await server.postMail(attempt.address, { text: CODE });
  assert.equal((await waiting).value, "493817");
});

test("wait after a crash asks for no more than there is time", async () => {
  const attempt = await client.attempt();
  const began = Date.now();
  // For each request, when the server may answer it.
  const ends: number[] = [];
  const real = globalThis.fetch;
  globalThis.fetch = (input, init) => {
    const asked = typeof init?.body === "string" && /"wait":(\d+)/.exec(init.body);
    if (asked) ends.push(Date.now() - began + Number(asked[1]) * 1000);
    return real(input, init);
  };
  try {
    let isOver = false;
    const ended = assert.rejects(
      attempt.code({ timeout: 15_000 }).finally(() => (isOver = true)),
      (error) => error instanceof NothingArrived || error instanceof Unreachable,
    );
    await untilWaiting();
    await server.kill();
    await until("some seconds of tries", () => ends.length > 5 || isOver);
    await server.restart();
    await ended;
  } finally {
    globalThis.fetch = real;
  }
  // A request that does not wait may be tried a moment longer.
  assert.ok(Math.max(...ends) < 16_000, String(ends));
});

test("server that stays away is named at the deadline", async () => {
  const attempt = await client.attempt();
  const ended = assert.rejects(attempt.code({ timeout: 15_000 }), Unreachable);
  await untilWaiting();
  await server.kill();
  await ended;
});
