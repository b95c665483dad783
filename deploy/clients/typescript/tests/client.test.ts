/** The client against a real server. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import * as maillatch from "maillatch";
import { Server } from "maillatch/testing";

const CODE = "Your verification code is 493817. It expires in ten minutes.";
const LINK = "Confirm your e-mail address: https://app.example.com/verify?code=Zk3vQ9pLwX2m";

let server: Server;
before(async () => {
  server = await Server.start();
});
after(async () => {
  await server.stop();
});

/** Resolves when the mail is processed. */
async function untilState(attempt: maillatch.Attempt, state: maillatch.AttemptState): Promise<void> {
  const deadline = Date.now() + 180_000;
  while ((await attempt.status()).state !== state) {
    assert.ok(Date.now() < deadline, `never ${state}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test("code arrives while the client waits", async () => {
  const attempt = await server.client().attempt({ senders: ["example.com"] });
  const waiting = attempt.code({ timeout: 180_000 });
  await server.postMail(attempt.address, { text: CODE });
  assert.equal((await waiting).value, "493817");
  await attempt.finish();
});

test("code of the expected form is given", async () => {
  const attempt = await server.client().attempt({ expect: { digits: 5 } });
  const text = "Your verification code is 482913. Your security code is 77120.";
  await server.postMail(attempt.address, { text });
  assert.equal((await attempt.code({ timeout: 180_000 })).value, "77120");
});

test("nothing arrived is told with the address and the next step", async () => {
  const attempt = await server.client().attempt();
  await assert.rejects(attempt.code({ timeout: 1000 }), (error: Error) => {
    assert.ok(error instanceof maillatch.NothingArrived);
    assert.match(error.message, /waited \d+ s for a code at .*: no mail arrived\. Next: /);
    return true;
  });
});

test("a value says whether its sender is proven", async () => {
  const client = server.client();
  const ofCode = await client.attempt();
  const ofToken = await client.attempt({ token: "code", links: ["app.example.com"] });
  await server.postMail(ofCode.address, { text: CODE });
  await server.postMail(ofToken.address, { text: LINK });
  const values = [
    await ofCode.code({ timeout: 180_000 }),
    await ofToken.token({ timeout: 180_000 }),
  ];
  for (const value of values) {
    assert.equal(value.senderVerified, false);
    assert.equal(value.senderProof, "no_signature");
  }
});

test("50 repeated consumes get one value", async () => {
  const client = server.client();
  const attempt = await client.attempt();
  await server.postMail(attempt.address, { text: CODE });
  const twins = await Promise.all(Array.from({ length: 50 }, () => client.resume(attempt.id)));
  const codes = await Promise.all(twins.map((twin) => twin.code({ timeout: 180_000 })));
  assert.deepEqual(new Set(codes.map((code) => code.value)), new Set(["493817"]));
});

test("20 attempts at once get their own codes", async () => {
  const client = server.client();
  const one = async (number: number) => {
    const attempt = await client.attempt();
    await server.postMail(attempt.address, { text: `Your verification code is ${number}.` });
    return (await attempt.code({ timeout: 180_000 })).value === String(number);
  };
  const right = await Promise.all(Array.from({ length: 20 }, (_, n) => one(483_100 + n)));
  assert.ok(right.every(Boolean));
});

test("link is given whole and a token is one field of it", async () => {
  const client = server.client();
  const whole = await client.attempt({ kind: "link", links: ["app.example.com"] });
  await server.postMail(whole.address, { text: LINK });
  const link = await whole.link({ timeout: 180_000, host: "example.com" });
  assert.match(link.url, /^https:\/\/app\.example\.com\/verify\?/);
  const field = await client.attempt({ token: "code", links: ["app.example.com"] });
  await server.postMail(field.address, { text: LINK });
  assert.equal((await field.token({ timeout: 180_000 })).token, "Zk3vQ9pLwX2m");
});

test("link to another host is blocked", async () => {
  const attempt = await server.client().attempt({ kind: "link", links: ["bank.test"] });
  await server.postMail(attempt.address, { text: LINK });
  await untilState(attempt, "blocked");
  await assert.rejects(attempt.link({ timeout: 0 }), (error: Error) => {
    assert.ok(error instanceof maillatch.Blocked);
    assert.equal(error.reason, "host_not_allowed");
    return true;
  });
});

test("mail without a code is explained", async () => {
  const attempt = await server.client().attempt();
  await server.postMail(attempt.address, { text: "Welcome aboard. We are glad to have you." });
  await untilState(attempt, "no_artifact");
  await assert.rejects(attempt.code({ timeout: 0 }), maillatch.NoArtifact);
});

test("resends are counted and a finished attempt is expired", async () => {
  const attempt = await server.client().attempt({ resends: 1 });
  assert.equal(await attempt.resend(), 0);
  await assert.rejects(attempt.resend(), maillatch.ResendsSpent);
  await attempt.finish("abandoned");
  await assert.rejects(attempt.code({ timeout: 2000 }), maillatch.Expired);
});

test("wrong kind is refused before anything is consumed", async () => {
  const attempt = await server.client().attempt({ kind: "link" });
  await assert.rejects(attempt.code(), maillatch.InvalidRequest);
});

test("wrong key is unauthorized", async () => {
  const client = new maillatch.Maillatch({ url: server.url, key: "mlk_wrong" });
  await assert.rejects(client.attempt(), maillatch.Unauthorized);
});

test("aborted wait ends at once", async () => {
  const attempt = await server.client().attempt();
  const abort = new AbortController();
  const waiting = attempt.code({ timeout: 180_000, signal: abort.signal });
  abort.abort();
  await assert.rejects(waiting, { name: "AbortError" });
});
