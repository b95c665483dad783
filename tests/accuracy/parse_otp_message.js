// Reads texts, one JSON string to a line, and prints what parse-otp-message finds in each:
// a JSON string or null. `peers.py` runs it, with NODE_PATH.
'use strict';

const parse = require('parse-otp-message');

for (const line of require('fs').readFileSync(0, 'utf8').trimEnd().split('\n')) {
    let code = null;
    try {
        code = parse(JSON.parse(line))?.code ?? null;
    } catch {
        // An exception is no answer.
    }
    console.log(JSON.stringify(code));
}
