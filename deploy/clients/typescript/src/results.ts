/** What the server gives out. A test holds these types against the OpenAPI document. */

export type Kind = "code" | "link" | "either";
export type Outcome = "succeeded" | "failed" | "abandoned";
export type AttemptState =
  | "pending"
  | "ready"
  | "consumed"
  | "superseded"
  | "blocked"
  | "no_artifact"
  | "nothing_arrived"
  | "expired"
  | "unhealthy";
export type NextStep = "wait" | "consume" | "resend" | "open" | "tell_operator" | "nothing";

/** What every value has. */
export interface Taken {
  /** The id of the artifact, for the operator. */
  readonly artifact: string;
  /** When it was given out (RFC 3339). */
  readonly consumedAt: string;
  /** Whether it is proven which domain the mail comes from. An older server does not say. */
  readonly senderVerified?: boolean | undefined;
  /** What proves it (`provider` or `dkim`), or why it is not proven. */
  readonly senderProof?: string | undefined;
}

/** A verification code. */
export interface Code extends Taken {
  readonly value: string;
}

/** A link that passed the server's checks. Nobody has fetched it. */
export interface Link extends Taken {
  readonly url: string;
}

/** One field of a link, given out in place of the link. */
export interface Token extends Taken {
  readonly token: string;
}

/** How an attempt stands. It holds no value. */
export interface Status {
  readonly state: AttemptState;
  /** Which rule withholds the mail, or why nothing was found in it. */
  readonly reason: string | undefined;
  /** The domain that a list lacks, of the sender or the link; the sender of the mail chose it. */
  readonly seen: string | undefined;
  readonly next: NextStep;
  /** The next step in a sentence. */
  readonly hint: string;
  readonly deadline: string;
  readonly resendsLeft: number;
}

/** The server's answer about an attempt, as far as this client reads it. */
export interface AttemptAnswer {
  id: string;
  inbox: string;
  kind: Kind;
  state: AttemptState;
  reason?: string | null;
  seen?: string | null;
  next: NextStep;
  hint: string;
  deadline: string;
  resends_left: number;
}

/** The server's answer that holds a value. */
export interface Disclosure {
  artifact: string;
  state: "consumed";
  kind: "code" | "link";
  value?: string | null;
  token?: string | null;
  sender_verified?: boolean;
  sender_proof?: string;
  consumed_at: string;
}

export function statusOf(answer: AttemptAnswer): Status {
  return {
    state: answer.state,
    reason: answer.reason ?? undefined,
    seen: answer.seen ?? undefined,
    next: answer.next,
    hint: answer.hint,
    deadline: answer.deadline,
    resendsLeft: answer.resends_left,
  };
}
