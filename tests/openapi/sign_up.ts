/** The site that sends the mail: here the command that posts a signed sample. */
import { execFileSync } from "node:child_process";

export function environment(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

export function signUp(address: string): void {
  execFileSync(environment("MAILLATCH_BIN"), ["trigger", "otp", "--to", address]);
}
