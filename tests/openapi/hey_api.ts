/** The README's example for an agent, with the client that hey-api makes. */
import { randomUUID } from "node:crypto";

import { client } from "./generated/client.gen.js";
import { consumeAttempt, finishAttempt, openAttempt } from "./generated/sdk.gen.js";
import { environment, signUp } from "./sign_up.js";

client.setConfig({ baseUrl: environment("MAILLATCH_URL"), auth: environment("MAILLATCH_KEY") });

const { data: attempt } = await openAttempt({ body: { from: ["example.com"] }, throwOnError: true });
signUp(attempt.inbox);
const key = randomUUID();
for (;;) {
  const { data: answer } = await consumeAttempt({
    path: { attempt: attempt.id },
    headers: { "Idempotency-Key": key },
    body: { wait: 25 },
    throwOnError: true,
  });
  if ("value" in answer) {
    console.log(answer.value);
    break;
  }
}
await finishAttempt({
  path: { attempt: attempt.id },
  body: { outcome: "succeeded" },
  throwOnError: true,
});
