// Values of the shapes that the applications make, and the way to print a part.
'use strict';
const fs = require('node:fs');
const path = require('node:path');

const SITE = 'https://app.example.com';
// Where the packages are unpacked, and below it the modules that they need.
const PACKS = path.join(process.env.APPLICATIONS_NODE, 'packs');
const modules = path.join(process.env.APPLICATIONS_NODE, 'node_modules');

// The same number gives the same mails, so that two binaries can be compared.
let state = Number(process.env.APPLICATIONS_SEED || 2026);
const next = (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
};
const some = (alphabet, length) => Array.from({length}, () => alphabet[next(alphabet.length)]).join('');
const digits = (length) => some('0123456789', length);
const token = (length = 40) => some('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789', length);

const part = (fields) => process.stdout.write(JSON.stringify(fields) + '\n');
const module_ = (name) => require(require.resolve(name, {paths: [modules]}));
const pack = (name) => path.join(PACKS, name);
const read = (...names) => fs.readFileSync(path.join(PACKS, ...names), 'utf8');
// English first: the mails that equal it are mails without a translation.
const englishFirst = (names) => [...names].sort((a, b) => !a.startsWith('en') - !b.startsWith('en') || (a < b ? -1 : 1));

// A mail in English with a link of the application, or with a code. `make` gets it and returns the parts.
const link = (origin, kind, route, make) => {
    const secret = token();
    part({origin, lang: 'en', class: kind, secret, ...make(SITE + route + secret, secret)});
};
const code = (origin, kind, make) => {
    const value = digits(6);
    part({origin, lang: 'en', class: kind, code: value, ...make(value)});
};

module.exports = {SITE, modules, digits, token, part, module_, pack, read, englishFirst, link, code};
