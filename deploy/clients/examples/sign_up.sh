#!/usr/bin/env bash
# Signs up at a site by the e-mailed code, with nothing but curl and the maillatch CLI.
#   SITE_URL=… MAILLATCH_URL=… MAILLATCH_KEY=… ./sign_up.sh
set -euo pipefail
maillatch=${MAILLATCH_BIN:-maillatch}

# The attempt comes first: only mail that arrives after it counts.
read -r attempt address < <("$maillatch" attempt new --from example.com)
page=$(curl -fsS "$SITE_URL/sign-up" --data-urlencode "email=$address" -d by=code)
id=$(sed -n 's/.*name="id" value="\([^"]*\)".*/\1/p' <<<"$page" | head -n 1)

code=$("$maillatch" attempt consume "$attempt" --timeout 90s)
curl -fsS "$SITE_URL/verify" -d "id=$id" --data-urlencode "code=$code" | grep -o 'You are signed up'
"$maillatch" attempt finish "$attempt" succeeded >&2
