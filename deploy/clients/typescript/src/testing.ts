/** For tests on Node: a private server, and signed mail as a provider would post it. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHmac, randomUUID } from "node:crypto";
import { openSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Maillatch } from "./client.js";
import { MaillatchError } from "./errors.js";

/** How long a server may take until it is ready. */
const START_MS = 60_000;

export interface Mail {
  text: string;
  html?: string;
  subject?: string;
  from?: string;
}

/** A server of its own, on a free port, with a private data directory. */
export class Server {
  url = "";
  /** Where the server serves its metrics, and what is wrong with it. */
  opsUrl = "";
  key = "";
  #secret = "";
  #process: ChildProcess | undefined;

  private constructor(
    readonly binary: string,
    readonly directory: string,
  ) {}

  /** Starts a server. `binary` defaults to `MAILLATCH_BIN`, then to `maillatch`. */
  static async start(binary = process.env["MAILLATCH_BIN"] ?? "maillatch"): Promise<Server> {
    const server = new Server(binary, await mkdtemp(join(tmpdir(), "maillatch-")));
    await server.restart();
    return server;
  }

  /** Starts the process again, with the same data and the same port. */
  async restart(): Promise<void> {
    const listen = this.url.replace("http://", "") || "127.0.0.1:0";
    const data = join(this.directory, "data");
    const log = openSync(join(this.directory, "server.log"), "a");
    const environment = Object.entries(process.env).filter(([name]) => !name.startsWith("MAILLATCH_"));
    const child = spawn(this.binary, ["up", "--json", "--listen", listen, "--data-dir", data], {
      stdio: ["ignore", "pipe", log],
      env: { ...Object.fromEntries(environment), MAILLATCH_SERVER__OPS_LISTEN: "127.0.0.1:0" },
    });
    this.#process = child;
    this.opsUrl = (await ready(child)).ops_url;
    const values = variables(readFileSync(join(data, "dev.env"), "utf8"));
    this.url = values["MAILLATCH_URL"] ?? "";
    this.key = values["MAILLATCH_KEY"] ?? "";
    this.#secret = values["MAILLATCH_SIGNING_SECRET"] ?? "";
  }

  /** A client of this server. */
  client(): Maillatch {
    return new Maillatch({ url: this.url, key: this.key });
  }

  /** Posts a mail as a provider does: signed by Standard Webhooks. */
  async postMail(to: string, mail: Mail): Promise<void> {
    const raw = Buffer.from(rawMail(to, mail)).toString("base64");
    const body = JSON.stringify({ type: "email.received", data: { recipients: [to], raw } });
    const id = `msg_${randomUUID()}`;
    const timestamp = Math.floor(Date.now() / 1000).toString();
    const key = Buffer.from(this.#secret.replace("whsec_", ""), "base64");
    const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
    const response = await fetch(`${this.url}/hooks/dev`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": timestamp,
        "webhook-signature": `v1,${signature}`,
      },
      body,
    });
    if (!response.ok) {
      throw new MaillatchError(`the server refused the mail with status ${response.status}`);
    }
  }

  /** Ends the process at once, as a crash would. */
  async kill(): Promise<void> {
    await end(this.#process, "SIGKILL");
  }

  /** Ends the server and removes its data. */
  async stop(): Promise<void> {
    await end(this.#process, "SIGTERM");
    await rm(this.directory, { recursive: true, force: true });
  }
}

async function ready(child: ChildProcess): Promise<{ ops_url: string }> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new MaillatchError(`the server did not start: ${why}`));
    const timer = setTimeout(() => fail("it was not ready in time"), START_MS);
    child.once("error", (error) => fail(error.message));
    child.once("exit", (code) => fail(`it ended with status ${code}`));
    child.stdout?.once("data", (line: Buffer) => {
      clearTimeout(timer);
      resolve(JSON.parse(line.toString()) as { ops_url: string });
    });
  });
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await gone;
}

function variables(text: string): Record<string, string> {
  const pairs = text.split("\n").map((line) => /^([A-Z_]+)=['"]?(.*?)['"]?$/.exec(line.trim()));
  return Object.fromEntries(pairs.flatMap((pair) => (pair ? [[pair[1], pair[2]]] : [])));
}

function rawMail(to: string, mail: Mail): string {
  const headers = [
    `From: ${mail.from ?? "Example <no-reply@example.com>"}`,
    `To: ${to}`,
    `Subject: ${mail.subject ?? "Your account"}`,
    `Date: ${new Date().toUTCString()}`,
    `Message-ID: <${randomUUID()}@example.com>`,
    "MIME-Version: 1.0",
  ];
  const part = (type: string, body: string) =>
    `Content-Type: text/${type}; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n` +
    `${Buffer.from(body).toString("base64").replace(/(.{76})/g, "$1\r\n")}\r\n`;
  if (mail.html === undefined) return `${headers.join("\r\n")}\r\n${part("plain", mail.text)}`;
  const boundary = randomUUID();
  const parts = [part("plain", mail.text), part("html", mail.html)];
  return (
    `${headers.join("\r\n")}\r\nContent-Type: multipart/alternative; boundary="${boundary}"\r\n\r\n` +
    `${parts.map((one) => `--${boundary}\r\n${one}`).join("")}--${boundary}--\r\n`
  );
}
