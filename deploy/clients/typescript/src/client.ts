import {
  AlreadyConsumed,
  Blocked,
  Expired,
  InvalidRequest,
  MaillatchError,
  NoArtifact,
  NothingArrived,
  Superseded,
  Unhealthy,
} from "./errors.js";
import { statusOf } from "./results.js";
import type {
  AttemptAnswer,
  AttemptState,
  Code,
  Disclosure,
  Kind,
  Link,
  Outcome,
  Status,
  Taken,
  Token,
} from "./results.js";
import { defaultTimeout, sleep, Transport } from "./transport.js";

/** How long one request waits on the server. Proxies often cut a request at 60 s. */
const ONE_WAIT_MS = 25_000;
/** For how long a request that does not wait is tried. */
const LEAST_PATIENCE_MS = 900;

export interface MaillatchOptions {
  /** Default: the variable `MAILLATCH_URL`, then `http://127.0.0.1:8080`. */
  url?: string;
  /** Default: the variable `MAILLATCH_KEY`. */
  key?: string;
}

export interface AttemptOptions {
  /** What to wait for; a code by default. */
  kind?: Kind;
  /** Domains the mail may come from. */
  senders?: readonly string[];
  /** Hosts a link may lead to: `example.com` or `*.example.com`. */
  links?: readonly string[];
  /** An address of yours; a fresh one by default. */
  inbox?: string;
  /** For how many seconds the attempt is open; 600 by default. */
  deadline?: number;
  /** How often the sender may be asked for another mail; once by default. */
  resends?: number;
  /** The field of the link that is handed out in place of the link. */
  token?: string;
  /** The form of the code, if it is known: other numbers in the mail are then no rivals. */
  expect?: { digits: number } | { letters: number } | { characters: number };
  /** Only mail whose sender is proven. */
  verified?: boolean;
  /** The same reference is the same attempt, also after a restart of your process. */
  reference?: string;
}

export interface WaitOptions {
  /** In milliseconds. Default: the variable `MAILLATCH_TIMEOUT` (in seconds), then 90 s. */
  timeout?: number;
  /** Gives up the wait. */
  signal?: AbortSignal;
}

export interface LinkOptions extends WaitOptions {
  /** Where the link must lead. */
  host?: string;
}

/** A Maillatch server. */
export class Maillatch {
  readonly #transport: Transport;

  constructor(options: MaillatchOptions = {}) {
    this.#transport = new Transport(options.url, options.key);
  }

  /** Opens an attempt. Do it before the mail is triggered. */
  async attempt(options: AttemptOptions = {}): Promise<Attempt> {
    const { senders, verified, token, kind, ...same } = options;
    const reference = options.reference ?? `ts-${crypto.randomUUID()}`;
    const body = {
      ...same,
      kind: kind ?? (token === undefined ? "code" : "link"),
      // The same reference is the same attempt, so opening may be repeated safely.
      reference,
      ...(senders === undefined ? {} : { from: senders }),
      ...(token === undefined ? {} : { token }),
      ...(verified ? { require: "verified" } : {}),
    };
    const answer = await this.#transport.call<AttemptAnswer>({
      method: "POST",
      path: "/v1/attempts",
      body,
      idempotencyKey: `open-${reference}`.slice(0, 255),
    });
    return new Attempt(this.#transport, answer);
  }

  /** An attempt that was opened before, for example by another process. */
  async resume(id: string): Promise<Attempt> {
    const path = `/v1/attempts/${encodeURIComponent(id)}`;
    return new Attempt(this.#transport, await this.#transport.call({ method: "GET", path }));
  }
}

/** One try to get a code or a link. `await using` finishes it by itself. */
export class Attempt {
  readonly id: string;
  /** The address to sign up with. */
  readonly address: string;
  readonly kind: Kind;
  readonly #transport: Transport;
  #taken = 0;
  #resends = 0;
  #isFinished = false;

  /** @internal */
  constructor(transport: Transport, answer: AttemptAnswer) {
    this.#transport = transport;
    this.id = answer.id;
    this.address = answer.inbox;
    this.kind = answer.kind;
  }

  /** Waits for the code and takes it. */
  async code(options: WaitOptions = {}): Promise<Code> {
    this.#expect("code");
    const { value, kind, taken } = await this.#value("code", options);
    if (value === undefined || kind !== "code") {
      throw new InvalidRequest("the mail held a link and no code; use link()");
    }
    return { ...taken, value };
  }

  /** Waits for the link and takes it. */
  async link(options: LinkOptions = {}): Promise<Link> {
    this.#expect("link");
    const { value, kind, taken } = await this.#value("link", options);
    if (value === undefined || kind !== "link") {
      throw new InvalidRequest("the mail held no whole link; use code() or token()");
    }
    checkHost(value, options.host);
    return { ...taken, url: value };
  }

  /** Waits for the field of the link that the attempt was opened with. */
  async token(options: WaitOptions = {}): Promise<Token> {
    const { token, taken } = await this.#value("link", options);
    if (token === undefined) throw new InvalidRequest("this attempt was not opened with { token }");
    return { ...taken, token };
  }

  /** How the attempt stands. */
  async status(): Promise<Status> {
    return statusOf(await this.#transport.call({ method: "GET", path: this.#path() }));
  }

  /**
   * Counts a resend against the attempt's budget and returns how many are left. It sends
   * nothing: call it before you click "send again", and only click when it returns.
   */
  async resend(): Promise<number> {
    const answer = await this.#transport.call<AttemptAnswer>({
      method: "POST",
      path: this.#path("/resend"),
      body: {},
      idempotencyKey: `${this.id}-resend-${this.#resends + 1}`,
    });
    this.#resends += 1;
    return answer.resends_left;
  }

  /** Ends the attempt. */
  async finish(outcome?: Outcome): Promise<void> {
    if (this.#isFinished) return;
    await this.#transport.call({
      method: "POST",
      path: this.#path("/finish"),
      body: { outcome: outcome ?? (this.#taken > 0 ? "succeeded" : "abandoned") },
      idempotencyKey: `${this.id}-finish`,
    });
    this.#isFinished = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.finish();
  }

  #path(end = ""): string {
    return `/v1/attempts/${encodeURIComponent(this.id)}${end}`;
  }

  /** Fails before anything is consumed if the attempt is for something else. */
  #expect(wanted: "code" | "link"): void {
    if (this.kind !== wanted && this.kind !== "either") {
      throw new InvalidRequest(
        `this attempt waits for a ${this.kind}, not for a ${wanted}. ` +
          `Open another one with { kind: "${wanted}" }`,
      );
    }
  }

  async #value(wanted: string, options: WaitOptions): Promise<Value> {
    const timeout = options.timeout ?? defaultTimeout();
    const began = Date.now();
    for (;;) {
      const left = Math.max(0, began + timeout - Date.now());
      const answer = await this.#transport.call<AttemptAnswer | Disclosure>({
        method: "POST",
        path: this.#path("/consume"),
        // The same for every repetition of one request, and another one for the next.
        idempotencyKey: `${this.id}-value-${this.#taken + 1}`,
        wait: ONE_WAIT_MS,
        patience: Math.max(left, LEAST_PATIENCE_MS),
        signal: options.signal,
      });
      const value = valueOf(answer);
      if (value) {
        this.#taken += 1;
        return value;
      }
      const status = statusOf(answer as AttemptAnswer);
      const waited = Date.now() - began;
      if (isOver(status.state) || waited >= timeout) throw this.#miss(status, wanted, waited);
      // Less than a second is left, which the server cannot wait for.
      if (left < 1000) await sleep(Math.min(timeout - waited, 250), options.signal);
    }
  }

  #miss(status: Status, wanted: string, waited: number): MaillatchError {
    const seen = status.seen ? `, seen ${status.seen}` : "";
    const why = status.reason ? ` (${status.reason}${seen})` : "";
    const [failure, text] = explain(status.state, wanted, why);
    const began = `waited ${Math.round(waited / 1000)} s for a ${wanted} at ${this.address}`;
    return new failure(`${began}: ${text}. Next: ${status.hint}`, status.reason);
  }
}

interface Value {
  value: string | undefined;
  token: string | undefined;
  kind: "code" | "link";
  taken: Taken;
}

function valueOf(answer: AttemptAnswer | Disclosure): Value | undefined {
  if (!("consumed_at" in answer)) return undefined;
  return {
    value: answer.value ?? undefined,
    token: answer.token ?? undefined,
    kind: answer.kind,
    taken: {
      artifact: answer.artifact,
      consumedAt: answer.consumed_at,
      senderVerified: answer.sender_verified,
      senderProof: answer.sender_proof,
    },
  };
}

/** Whether another wait cannot bring a value. */
function isOver(state: AttemptState): boolean {
  return state === "expired" || state === "consumed" || state === "nothing_arrived";
}

type Explained = [new (message: string, reason?: string) => MaillatchError, string];

function explain(state: AttemptState, wanted: string, why: string): Explained {
  switch (state) {
    case "no_artifact":
      return [NoArtifact, `mail arrived, but held no ${wanted} that is certain${why}`];
    case "blocked":
      return [Blocked, `mail arrived, but a rule withholds it${why}`];
    case "consumed":
      return [AlreadyConsumed, "the value was given to another request"];
    case "superseded":
      return [Superseded, "a newer mail replaced the value"];
    case "expired":
      return [Expired, `the attempt is over${why}`];
    case "unhealthy":
      return [Unhealthy, "the server cannot process mail at the moment"];
    case "pending":
    case "ready":
    case "nothing_arrived":
      return [NothingArrived, "no mail arrived"];
  }
}

function checkHost(url: string, host: string | undefined): void {
  if (host === undefined) return;
  const found = new URL(url).hostname;
  const wanted = host.toLowerCase();
  if (found !== wanted && !found.endsWith(`.${wanted}`)) {
    throw new Blocked(
      `the link leads to ${found}, not to ${host}. ` +
        `Open the attempt with { links: ["${host}"] }, so that the server checks it`,
      "host_not_expected",
    );
  }
}
