// The official TypeScript client over both transports, and what every driver does with it.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { MAILLATCH_BIN, SITE_URL } = process.env;
export const SERVER = process.env.MAILLATCH_URL.replace(/\/+$/, "");
/** A wait takes at most 50 s; the rest is for a busy machine. */
export const PATIENCE_MS = 180_000;

export const transports = {
  stdio: (key, url = SERVER) =>
    new StdioClientTransport({
      command: MAILLATCH_BIN,
      args: ["mcp"],
      env: { MAILLATCH_URL: url, MAILLATCH_KEY: key },
    }),
  http: (key) =>
    new StreamableHTTPClientTransport(new URL(`${SERVER}/mcp`), {
      requestInit: { headers: { Authorization: `Bearer ${key}` } },
    }),
};

export async function connect(transport) {
  const client = new Client({ name: "drive", version: "1" });
  await client.connect(transport);
  return client;
}

export async function signUp(email, by) {
  const body = new URLSearchParams({ email, by });
  const answer = await fetch(`${SITE_URL}/sign-up`, { method: "POST", body });
  assert(answer.ok, `the site answered ${answer.status}`);
}

export async function call(client, name, args, options = {}) {
  const patience = { timeout: PATIENCE_MS, ...options };
  const result = await client.callTool({ name, arguments: args }, undefined, patience);
  assert(result.structuredContent, JSON.stringify(result));
  return result.structuredContent;
}

export async function start(client, wish = {}) {
  const started = await call(client, "start_attempt", { reference: randomUUID(), ...wish });
  assert.equal(started.status, "pending", JSON.stringify(started));
  return started;
}
