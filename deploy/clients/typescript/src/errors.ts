/**
 * Why there is no value. Each message says what was waited for, for how long, what did
 * arrive, and one next step.
 */

/** The root of all errors of this package. */
export class MaillatchError extends Error {
  /** The server's word for it, for example `host_not_allowed`. */
  readonly reason: string | undefined;

  constructor(message: string, reason?: string) {
    super(message);
    this.name = new.target.name;
    this.reason = reason;
  }
}

/** No mail came in time. */
export class NothingArrived extends MaillatchError {}
/** Mail came, and the server found no code or link in it that it is sure of. */
export class NoArtifact extends MaillatchError {}
/** Mail came, and a rule withholds it: a sender, a host or a proof. */
export class Blocked extends MaillatchError {}
/** Another request has taken the value. */
export class AlreadyConsumed extends MaillatchError {}
/** A newer mail replaced the one that this request asked for. */
export class Superseded extends MaillatchError {}
/** The attempt is over: its deadline passed, or somebody finished it. */
export class Expired extends MaillatchError {}
/** The attempt's budget of resends is used up. */
export class ResendsSpent extends MaillatchError {}
/** The key is missing, wrong, expired, or lacks a scope. */
export class Unauthorized extends MaillatchError {}
/** There is no such attempt for this key. */
export class NotFound extends MaillatchError {}
/** The server refuses what was asked for; the message names the field. */
export class InvalidRequest extends MaillatchError {}
/** The key has asked too often, or has too many waits open. */
export class RateLimited extends MaillatchError {}
/** A part of the server is not working, so nobody can say whether mail came. */
export class Unhealthy extends MaillatchError {}
/** The server does not answer at its URL. */
export class Unreachable extends Unhealthy {}
