/**
 * Client of a Maillatch server.
 *
 * ```ts
 * import { Maillatch } from "maillatch";
 *
 * const client = new Maillatch();                     // MAILLATCH_URL and MAILLATCH_KEY
 * const attempt = await client.attempt({ senders: ["example.com"] });
 * await signUp(attempt.address);
 * const code = await attempt.code({ timeout: 90_000 });
 * ```
 *
 * Open the attempt before you trigger the mail: only mail that arrives after that moment
 * counts. Every call may be repeated under the same idempotency key.
 */
export { Attempt, Maillatch } from "./client.js";
export type { AttemptOptions, LinkOptions, MaillatchOptions, WaitOptions } from "./client.js";
export * from "./errors.js";
export type { AttemptState, Code, Kind, Link, NextStep, Outcome, Status, Token } from "./results.js";
