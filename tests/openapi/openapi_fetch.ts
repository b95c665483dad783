/** The README's example for an agent, with the types that openapi-typescript makes. */
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";

import type { paths } from "./schema.js";
import { environment, signUp } from "./sign_up.js";

const client = createClient<paths>({
  baseUrl: environment("MAILLATCH_URL"),
  headers: { Authorization: `Bearer ${environment("MAILLATCH_KEY")}` },
});

const opened = await client.POST("/v1/attempts", { body: { from: ["example.com"] } });
if (opened.error) throw new Error(opened.error.detail);
signUp(opened.data.inbox);
const path = { attempt: opened.data.id };
const header = { "Idempotency-Key": randomUUID() };
for (;;) {
  const answer = await client.POST("/v1/attempts/{attempt}/consume", {
    params: { path, header },
    body: { wait: 25 },
  });
  if (answer.error) throw new Error(answer.error.detail);
  if ("value" in answer.data) {
    console.log(answer.data.value);
    break;
  }
}
const finished = await client.POST("/v1/attempts/{attempt}/finish", {
  params: { path },
  body: { outcome: "succeeded" },
});
if (finished.error) throw new Error(finished.error.detail);
