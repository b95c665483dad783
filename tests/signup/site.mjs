// A small sign-up site, for tests in a browser. It has no mailbox and no SMTP: its mail
// goes to Maillatch as the signed webhook of a provider.
//
//   MAILLATCH_URL=… MAILLATCH_SIGNING_SECRET=… node tests/signup/site.mjs
//
// It prints its own URL. What real sites do is here: a code expires and is good once, a
// new code replaces the old one, three wrong tries end it, "send again" is limited, and
// the mail holds other numbers that are not the code.
import { createHmac, randomInt, randomUUID } from "node:crypto";
import { createServer } from "node:http";

const { MAILLATCH_URL, MAILLATCH_SIGNING_SECRET } = process.env;
if (!MAILLATCH_URL || !MAILLATCH_SIGNING_SECRET) {
  console.error("site.mjs: set MAILLATCH_URL and MAILLATCH_SIGNING_SECRET");
  process.exit(2);
}

const LIFETIME_MS = 10 * 60_000;
const MOST_MAILS = 3;
const MOST_TRIES = 3;

/** Sign-ups by their id. */
const signUps = new Map();

function page(title, body) {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>
<main><h1>${title}</h1>${body}</main></html>`;
}

const FORM = page(
  "Sign up",
  `<form method="post" action="/sign-up">
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
  const order = `Reference ${randomInt(10_000_000, 99_999_999)}. Call us at 555-0114. © 2026`;
  if (signUp.by === "code") {
    return `Your verification code is ${signUp.secret}.\r\n\r\nIt expires in 10 minutes.\r\n${order}`;
  }
  const link = `https://app.example.com/confirm?id=${signUp.id}&token=${signUp.secret}`;
  return `Confirm your e-mail address:\r\n\r\n${link}\r\n\r\n${order}`;
}

async function send(signUp) {
  signUp.mails += 1;
  signUp.tries = 0;
  signUp.secret = signUp.by === "code" ? String(randomInt(100_000, 1_000_000)) : randomUUID();
  signUp.expires = Date.now() + LIFETIME_MS;
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
  const response = await fetch(`${MAILLATCH_URL}/hooks/dev`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${digest}`,
    },
    body,
  });
  if (!response.ok) throw new Error(`the mail was refused with status ${response.status}`);
}

/** Whether a secret is the one that was mailed last; it is good once. */
function accepts(signUp, secret) {
  signUp.tries += 1;
  const isGood =
    signUp.secret === secret && signUp.tries <= MOST_TRIES && Date.now() < signUp.expires;
  if (isGood) signUp.secret = undefined;
  return isGood;
}

const WELCOME = page("Welcome", "<p>You are signed up.</p>");

const routes = {
  "GET /": async () => [200, FORM],
  "POST /sign-up": async (fields) => {
    const signUp = { id: randomUUID(), email: fields.get("email"), by: fields.get("by"), mails: 0 };
    signUps.set(signUp.id, signUp);
    await send(signUp);
    return [200, codeForm(signUp.id, "We have sent you a mail.")];
  },
  "POST /again": async (fields) => {
    const signUp = signUps.get(fields.get("id"));
    if (!signUp) return [404, page("Not found", "")];
    if (signUp.mails >= MOST_MAILS) return [429, page("Too many mails", "<p>Wait an hour.</p>")];
    await send(signUp);
    return [200, codeForm(signUp.id, "We have sent you another mail.")];
  },
  "POST /verify": async (fields) => {
    const signUp = signUps.get(fields.get("id"));
    if (signUp && accepts(signUp, fields.get("code")?.trim())) return [200, WELCOME];
    return [403, codeForm(fields.get("id"), "This code is wrong.")];
  },
  "GET /confirm": async (fields) => {
    const signUp = signUps.get(fields.get("id"));
    if (signUp && accepts(signUp, fields.get("token"))) return [200, WELCOME];
    return [403, page("This link is not good any more", "")];
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
    answer = [502, page("Our mail is not working", `<p>${error.message}</p>`)];
  }
  response.writeHead(answer[0], { "Content-Type": "text/html; charset=utf-8" });
  response.end(answer[1]);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
