// A small sign-up site, for tests in a browser. It has no mailbox and no SMTP: its mail
// goes to Maillatch as the signed webhook of a provider.
//
//   MAILLATCH_URL=… MAILLATCH_SIGNING_SECRET=… node tests/signup/site.mjs
//
// It prints its own URL. What real sites do is here: a code expires and is good once, a
// new code replaces the old one, three wrong tries end it, "send again" is limited, and
// the mail holds another number of six digits that is not the code.
//
// `/?lifetime=SECONDS` sets how long the first mail of a sign-up is good; later ones are
// good for ten minutes.
//
// The error output has one line of JSON for each post of a mail: to whom, the status, how
// long it took. A code that did not arrive can be searched there first.
import { createHmac, randomInt, randomUUID } from "node:crypto";
import { createServer } from "node:http";

const { MAILLATCH_URL, MAILLATCH_SIGNING_SECRET } = process.env;
if (!MAILLATCH_URL || !MAILLATCH_SIGNING_SECRET) {
  console.error("site.mjs: set MAILLATCH_URL and MAILLATCH_SIGNING_SECRET");
  process.exit(2);
}

const LIFETIME_MS = 10 * 60_000;
const MOST_MAILS = 3;
/** For how long a mail is posted again; its signature is good for five minutes. */
const MOST_TIME_MS = 2 * 60_000;
/** How long one post may take; providers give up after 5 to 30 s. */
const ANSWER_MS = 15_000;
const MOST_TRIES = 3;

/** Sign-ups by their id. */
const signUps = new Map();

function page(title, body) {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>
<main><h1>${title}</h1>${body}</main></html>`;
}

const form = (lifetime) => page(
  "Sign up",
  `<form method="post" action="/sign-up">
<input type="hidden" name="lifetime" value="${lifetime}">
<label>E-mail <input name="email" type="email" required></label>
<button name="by" value="code">Send code</button>
<button name="by" value="link">Send link</button></form>`,
);

function codeForm(id, note) {
  return page(
    "Check your inbox",
    `<p role="status">${note}</p><form method="post" action="/verify">
<input type="hidden" name="id" value="${id}">
<label>Code <input name="code" autocomplete="one-time-code" required></label>
<button>Continue</button></form>
<form method="post" action="/again"><input type="hidden" name="id" value="${id}">
<button>Send again</button></form>`,
  );
}

function mailOf(signUp) {
  const order = `Order number: ${randomInt(100_000, 1_000_000)}. Call us at 555-0114. © 2026`;
  if (signUp.by === "code") {
    return `Your verification code is ${signUp.secret}.\r\n\r\nIt expires in 10 minutes.\r\n${order}`;
  }
  const link = `https://app.example.com/confirm?id=${signUp.id}&token=${signUp.secret}`;
  return `Confirm your e-mail address:\r\n\r\n${link}\r\n\r\n${order}`;
}

async function send(signUp, lifetime = LIFETIME_MS) {
  signUp.mails += 1;
  signUp.tries = 0;
  signUp.secret = signUp.by === "code" ? String(randomInt(100_000, 1_000_000)) : randomUUID();
  signUp.expires = Date.now() + lifetime;
  const raw = [
    "From: Example <no-reply@example.com>",
    `To: ${signUp.email}`,
    "Subject: Confirm your sign-up",
    `Date: ${new Date().toUTCString()}`,
    `Message-ID: <${randomUUID()}@example.com>`,
    "Content-Type: text/plain; charset=utf-8",
    "",
    mailOf(signUp),
  ].join("\r\n");
  const data = { recipients: [signUp.email], raw: Buffer.from(raw).toString("base64") };
  const body = JSON.stringify({ type: "email.received", data });
  const id = `msg_${randomUUID()}`;
  const timestamp = Math.floor(Date.now() / 1000).toString();
  const key = Buffer.from(MAILLATCH_SIGNING_SECRET.replace("whsec_", ""), "base64");
  const digest = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  await post(signUp.email, body, {
    "Content-Type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${digest}`,
  });
}

/** Writes a line into the log; what is not as it should be has the level WARN. */
function log(level, fields) {
  console.error(JSON.stringify({ level, at: new Date().toISOString(), ...fields }));
}

/** The status of one post; 503 if there was no answer in time. */
async function postOnce(body, headers) {
  const signal = AbortSignal.timeout(ANSWER_MS);
  try {
    const response = await fetch(`${MAILLATCH_URL}/hooks/dev`, { method: "POST", headers, body, signal });
    await response.arrayBuffer();
    return response.status;
  } catch (error) {
    log("WARN", { problem: `${error.name}: ${error.cause?.code ?? error.message}` });
    return 503;
  }
}

/**
 * Posts a webhook until it is accepted, as providers do: a busy server answers 503, or 408
 * if it was too busy to read the request.
 */
async function post(to, body, headers) {
  const id = headers["webhook-id"];
  const began = Date.now();
  for (let tries = 1; ; tries += 1) {
    const status = await postOnce(body, headers);
    const ms = Date.now() - began;
    log(status === 200 ? "INFO" : "WARN", { to, id, status, tries, ms });
    if (status === 200) return;
    if ((status < 500 && status !== 408) || ms > MOST_TIME_MS) {
      throw new Error(`the mail was refused with status ${status}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Why a secret is refused, or nothing if it is the one that was mailed last; it is good once. */
function refusal(signUp, secret) {
  if (!signUp || signUp.secret === undefined) return "is not good any more";
  signUp.tries += 1;
  if (signUp.tries > MOST_TRIES) return "was tried too often";
  if (signUp.secret !== secret) return "is wrong";
  if (Date.now() >= signUp.expires) return "has expired";
  signUp.secret = undefined;
  return undefined;
}

const sent = (signUp) => `We have sent you mail ${signUp.mails} of ${MOST_MAILS}.`;
const WELCOME = page("Welcome", "<p>You are signed up.</p>");
const SECONDS = /^\d{1,4}$/;

/** The lifetime that a form asks for, in milliseconds. */
function lifetimeOf(fields) {
  const seconds = fields.get("lifetime") ?? "";
  return SECONDS.test(seconds) ? Number(seconds) * 1000 : LIFETIME_MS;
}

const routes = {
  "GET /": async (fields) => [200, form(lifetimeOf(fields) / 1000)],
  "POST /sign-up": async (fields) => {
    const signUp = { id: randomUUID(), email: fields.get("email"), by: fields.get("by"), mails: 0 };
    signUps.set(signUp.id, signUp);
    await send(signUp, lifetimeOf(fields));
    return [200, codeForm(signUp.id, sent(signUp))];
  },
  "POST /again": async (fields) => {
    const signUp = signUps.get(fields.get("id"));
    if (!signUp) return [404, page("Not found", "")];
    if (signUp.mails >= MOST_MAILS) {
      return [429, codeForm(signUp.id, "We send you no more mails. Wait an hour.")];
    }
    await send(signUp);
    return [200, codeForm(signUp.id, sent(signUp))];
  },
  "POST /verify": async (fields) => {
    const why = refusal(signUps.get(fields.get("id")), fields.get("code")?.trim());
    return why ? [403, codeForm(fields.get("id"), `This code ${why}.`)] : [200, WELCOME];
  },
  "GET /confirm": async (fields) => {
    const why = refusal(signUps.get(fields.get("id")), fields.get("token"));
    return why ? [403, page(`This link ${why}`, "")] : [200, WELCOME];
  },
};

const server = createServer(async (request, response) => {
  const url = new URL(request.url, "http://site.test");
  let body = "";
  for await (const chunk of request) body += chunk;
  const fields = request.method === "POST" ? new URLSearchParams(body) : url.searchParams;
  const route = routes[`${request.method} ${url.pathname}`];
  let answer;
  try {
    answer = route ? await route(fields) : [404, page("Not found", "")];
  } catch (error) {
    log("WARN", { request: `${request.method} ${url.pathname}`, problem: error.message });
    answer = [502, page("Our mail is not working", `<p>${error.message}</p>`)];
  }
  response.writeHead(answer[0], { "Content-Type": "text/html; charset=utf-8" });
  response.end(answer[1]);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
