/**
 * One HTTP call, repeated until it is answered or its time is over. Every POST carries an
 * idempotency key, so the server does a repeated request once and answers it again.
 */
import {
  AlreadyConsumed,
  Expired,
  InvalidRequest,
  MaillatchError,
  NotFound,
  RateLimited,
  ResendsSpent,
  Superseded,
  Unauthorized,
  Unhealthy,
  Unreachable,
} from "./errors.js";

/** How long the server may take for an answer beyond the wait it was asked for. */
const ANSWER_MS = 15_000;
/** How long a wait takes if nothing else is said. */
const TIMEOUT_MS = 90_000;
/** The pauses between two tries grow from the first to the last of these. */
const FIRST_PAUSE_MS = 200;
const LAST_PAUSE_MS = 3_000;
/**
 * Statuses that pass by themselves: a request that did not reach the server in time, too many
 * requests, and a server that is restarting.
 */
const PASSING = new Set([408, 429, 502, 503, 504]);

export interface Call {
  method: "GET" | "POST";
  path: string;
  body?: unknown;
  idempotencyKey?: string;
  /**
   * Asks the server to wait that long before it answers. A repeated call asks for no more
   * than there is time.
   */
  wait?: number;
  /** For how long to try. */
  patience?: number;
  signal?: AbortSignal | undefined;
}

/** Where the server is and which key opens it. */
export class Transport {
  readonly url: string;
  readonly #key: string;

  constructor(url: string | undefined, key: string | undefined) {
    this.url = (url ?? environment("MAILLATCH_URL") ?? "http://127.0.0.1:8080").replace(/\/+$/, "");
    if (!/^https?:\/\//.test(this.url)) {
      throw new InvalidRequest(`the server's URL must begin with http:// or https://: ${this.url}`);
    }
    const found = key ?? environment("MAILLATCH_KEY");
    if (!found) {
      throw new Unauthorized(
        "there is no API key. Set MAILLATCH_KEY, or pass { key }; a development server " +
          "keeps its key in maillatch-data/dev.env",
      );
    }
    this.#key = found;
  }

  /** Calls until there is an answer that will not pass by itself. */
  async call<T>(call: Call): Promise<T> {
    const deadline = Date.now() + (call.patience ?? 30_000);
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LAST_PAUSE_MS)) {
      const tried = await this.#once<T>(call, deadline);
      if ("answer" in tried) return tried.answer;
      // Jitter: many clients that lost one server must not come back at once.
      const rest = tried.retryAfter ?? pause * (0.5 + Math.random());
      if (!tried.passes || Date.now() + rest >= deadline) throw tried.failure;
      await sleep(rest, call.signal);
    }
  }

  async #once<T>(call: Call, deadline: number): Promise<Tried<T>> {
    const left = Math.max(0, Math.min(call.wait ?? 0, deadline - Date.now()));
    const wait = Math.floor(left / 1000);
    const content = call.wait === undefined ? call.body : { wait };
    const headers: Record<string, string> = {
      Authorization: `Bearer ${this.#key}`,
      Accept: "application/json",
    };
    if (content !== undefined) headers["Content-Type"] = "application/json";
    if (call.idempotencyKey !== undefined) headers["Idempotency-Key"] = call.idempotencyKey;
    const timeout = AbortSignal.timeout(wait * 1000 + ANSWER_MS);
    let response: Response;
    let body: unknown;
    try {
      response = await fetch(this.url + call.path, {
        method: call.method,
        headers,
        redirect: "error",
        signal: call.signal ? AbortSignal.any([call.signal, timeout]) : timeout,
        ...(content === undefined ? {} : { body: JSON.stringify(content) }),
      });
      body = parsed(await response.text());
    } catch (error) {
      // The caller gave up; that is not a failure of the server.
      if (call.signal?.aborted) throw error;
      const failure = new Unreachable(
        `the Maillatch server at ${this.url} does not answer. Start it, or set MAILLATCH_URL`,
      );
      return { failure, passes: true };
    }
    if (response.ok) return { answer: body as T };
    const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
    return {
      failure: failureOf(response.status, body as Problem),
      passes: PASSING.has(response.status),
      ...(Number.isFinite(seconds) ? { retryAfter: seconds * 1000 } : {}),
    };
  }
}

type Tried<T> =
  | { answer: T }
  | { failure: MaillatchError; passes: boolean; retryAfter?: number };

interface Problem {
  type?: string;
  title?: string;
  detail?: string;
  reason?: string | null;
}

type ErrorClass = new (message: string, reason?: string) => MaillatchError;

const BY_TYPE: Record<string, ErrorClass> = {
  "already-consumed": AlreadyConsumed,
  superseded: Superseded,
  "attempt-over": Expired,
  expired: Expired,
  "resends-spent": ResendsSpent,
  "too-many-waits": RateLimited,
};
const BY_STATUS: Record<number, ErrorClass> = {
  401: Unauthorized,
  403: Unauthorized,
  404: NotFound,
  429: RateLimited,
};

/** The error that a problem document (RFC 9457) stands for. */
function failureOf(status: number, problem: Problem): MaillatchError {
  const kind = problem.type?.split(":").pop() ?? "";
  const failure =
    BY_TYPE[kind] ?? BY_STATUS[status] ?? (status >= 500 ? Unhealthy : InvalidRequest);
  const text = problem.detail ?? problem.title ?? `status ${status}`;
  return new failure(text, problem.reason ?? undefined);
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** A variable of the process, where there is a process: browsers and workers have none. */
function environment(name: string): string | undefined {
  const host = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return host.process?.env?.[name] || undefined;
}

/** How long a wait takes that names no timeout. */
export function defaultTimeout(): number {
  const said = environment("MAILLATCH_TIMEOUT");
  if (said === undefined) return TIMEOUT_MS;
  const seconds = Number(said);
  if (!Number.isFinite(seconds)) {
    throw new InvalidRequest(`MAILLATCH_TIMEOUT must be a number of seconds: ${said}`);
  }
  return seconds * 1000;
}

/** Waits, or fails when the caller gives up. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", giveUp);
      resolve();
    }, ms);
    if (signal?.aborted) giveUp();
    else signal?.addEventListener("abort", giveUp, { once: true });
  });
}
