/** The hand-written types, held against those generated from the server's OpenAPI document. */
import { test } from "node:test";

import type { AttemptAnswer, AttemptState, Disclosure, NextStep } from "../src/results.js";
import type { components } from "./openapi.generated.js";

type Schemas = components["schemas"];
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;
type Holds<A, B> = [A] extends [B] ? true : never;

// The compiler checks these: `tsc` fails where the document and the client differ.
const states: Same<Schemas["AttemptState"], AttemptState> = true;
const steps: Same<Schemas["Next"], NextStep> = true;
const answer: Holds<Schemas["Attempt"], AttemptAnswer> = true;
const disclosure: Holds<Schemas["AttemptDisclosure"], Disclosure> = true;

test("types are those of the OpenAPI document", () => {
  void [states, steps, answer, disclosure];
});
