// Stalls the only worker of a server: an API that never answers, and a signed webhook whose
// mail must be fetched there. Mail that arrives afterwards waits, and the server says that it
// is unhealthy.
//
//   node stall.mjs CONFIG      writes the server's settings, prints the URL of the API
//
// `POST /stall?url=SERVER` posts the webhook, signed with MAILLATCH_SIGNING_SECRET.
import { createHmac, randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";

const SECRET = process.env.MAILLATCH_SIGNING_SECRET;

function settings(api) {
  return `attempt.unhealthy_after = "1s"
feed.attempts_per_minute = 60
worker.concurrency = 1
worker.fetch_budget = "10m"

[source.dev]
provider = "standard-webhooks"
secrets = ["${SECRET}"]

[source.stalled]
provider = "resend"
secrets = ["${SECRET}"]
api_key = "none"
api_url = "${api}"
`;
}

async function stall(url) {
  const data = { email_id: randomUUID(), received_for: ["stalled@inbox.test"], to: ["stalled@inbox.test"] };
  const body = JSON.stringify({ type: "email.received", created_at: new Date().toISOString(), data });
  const id = `msg_${randomUUID()}`;
  const timestamp = Math.floor(Date.now() / 1000).toString();
  const key = Buffer.from(SECRET.replace("whsec_", ""), "base64");
  const digest = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  const headers = { "svix-id": id, "svix-timestamp": timestamp, "svix-signature": `v1,${digest}` };
  const answer = await fetch(`${url}/hooks/stalled`, { method: "POST", headers, body });
  if (!answer.ok) throw new Error(`the webhook was refused with status ${answer.status}`);
}

/** Resolves when the worker has asked for the mail; it waits from then on. */
let asked;
const isStalled = new Promise((resolve) => (asked = resolve));

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://stall.test");
  if (pathname !== "/stall") return asked();
  try {
    await stall(searchParams.get("url").replace(/\/+$/, ""));
    await isStalled;
    response.writeHead(204).end();
  } catch (error) {
    response.writeHead(502).end(error.message);
  }
});
server.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  writeFileSync(process.argv[2], settings(url));
  console.log(url);
});
