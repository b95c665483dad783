// Cloudflare Email Routing to Maillatch: this worker posts every mail that is routed to
// it, unchanged and signed by Standard Webhooks, to a source of the provider
// `cloudflare`.
//
// Settings of the worker:
//   MAILLATCH_URL     variable, such as https://mail.example.com/hooks/cloudflare
//   MAILLATCH_SECRET  secret, `whsec_` and base64; the same as in the source
//
// No mail is lost: if Maillatch does not answer 2xx, the worker throws, Cloudflare
// answers the sending server with a temporary failure, and that server retries. The
// delivery's id is a digest of the envelope and the mail, so a retry is a duplicate.

export default {
  async email(message, env) {
    const raw = new Uint8Array(await new Response(message.raw).arrayBuffer());
    const body = JSON.stringify({
      type: "email.received",
      data: { recipients: [message.to], raw: toBase64(raw) },
    });
    const answer = await fetch(env.MAILLATCH_URL, {
      method: "POST",
      redirect: "error",
      headers: await headers(env.MAILLATCH_SECRET, await idOf(message, raw), body),
      body,
    });
    if (!answer.ok) {
      throw new Error(`Maillatch answered ${answer.status}`);
    }
  },
};

async function headers(secret, id, body) {
  const timestamp = Math.floor(Date.now() / 1000).toString();
  const key = await crypto.subtle.importKey(
    "raw",
    fromBase64(secret.replace(/^whsec_/, "")),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, signed));
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${toBase64(mac)}`,
  };
}

// The id stays the same when the sending server retries.
async function idOf(message, raw) {
  const envelope = new TextEncoder().encode(`${message.from}\n${message.to}\n`);
  const all = new Uint8Array(envelope.length + raw.length);
  all.set(envelope);
  all.set(raw, envelope.length);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", all));
  return "cf_" + Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// In slices, because a call accepts a limited number of arguments.
function toBase64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return btoa(text);
}

function fromBase64(text) {
  return Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
}
