// Renders the mails of more Node applications that have translations.
//
//     APPLICATIONS_NODE=FOLDER node node_languages.js
'use strict';
const fs = require('node:fs');
const {SITE, digits, token, part, module_, pack, read, englishFirst} = require('./parts.js');

// --- JHipster ------------------------------------------------------------------------
// It writes applications of Java. Their mails are templates of Thymeleaf; the few attributes
// that they use are filled in here.

function jhipster() {
    const ejs = module_('ejs');
    const folder = 'jhipster/dist/generators/spring-boot/templates/src/main/resources';
    const words = (file) => Object.fromEntries(ejs.render(read(file), {baseName: 'Harbour', generateUserManagement: true})
        .split('\n').filter((line) => line.includes('=')).map((line) => [line.split('=')[0].trim(), line.slice(line.indexOf('=') + 1).trim()]));
    const english = words(`${folder}/i18n/messages.properties.ejs`);
    const place = 'jhipster/dist/generators/languages/templates/src/main/resources/i18n';
    const names = fs.readdirSync(pack(place)).map((file) => file.replace(/^messages_|\.properties\.ejs$/g, ''));
    for (const name of englishFirst(names)) {
        const own = {...english, ...words(`${place}/messages_${name}.properties.ejs`)};
        const say = (key) => own[key.replace(/\(.*/, '')].replaceAll("''", "'").replace('{0}', 'mara');
        for (const [kind, file, title, route] of [
            ['activation-link', 'activationEmail', 'email.activation.title', '/account/activate?key='],
            ['reset-link', 'passwordResetEmail', 'email.reset.title', '/account/reset/finish?key='],
            ['creation-link', 'creationEmail', 'email.activation.title', '/account/reset/finish?key='],
        ]) {
            const secret = token(20), url = SITE + route + secret;
            const html = ejs.render(read(`${folder}/templates/mail/${file}.html.ejs`), {})
                .replace(/ th:text="#\{([^"]*)\}"([^>]*)>[^<]*/g, (_, key, rest) => `${rest}>${say(key)}`)
                .replace(/ th:with="[^"]*" th:href="\$\{url\}" th:text="\$\{url\}">[^<]*/, ` href="${url}">${url}`)
                .replace(/ (xmlns:th|th:\w+)="[^"]*"/g, '');
            part({origin: 'jhipster', lang: name.replaceAll('_', '-'), class: kind, subject: say(title), html, secret});
        }
    }
}

// --- AuthHero ------------------------------------------------------------------------

function authhero() {
    const {Liquid} = module_('liquidjs');
    const source = read('authhero/dist/authhero.mjs');
    // The templates, their subjects and the texts of each language are plain objects of one file.
    const start = source.indexOf('//#region src/emails/defaults/compiled.ts');
    const [, templates, subjects] = source.slice(start).match(/var \w+ = (\{[^]*?\n\}), \w+ = (\{[^]*?\n\});/);
    const value_ = (text) => new Function(`return ${text}`)();
    const mails = value_(templates), titles = value_(subjects), engine = new Liquid();
    for (const [, lang, name] of source.matchAll(/(\w+): \{ translation: ([\w$]+) \}/g)) {
        const at = source.indexOf(`${name} = {\n\taccount_detected: `);
        const own = value_(source.slice(at + name.length + 3, source.indexOf('\n}', at) + 2));
        for (const [kind, mail, what, route] of [
            ['reset-link', 'reset_email', 'link', '/u/reset-password?state=9wXbNq2kT0&code='], ['reset-code', 'reset_email_by_code', 'code'],
            ['login-code', 'verify_email_by_code', 'code'], ['login-code-and-link', 'verify_email', 'both',
                '/passwordless/verify_redirect?connection=email&client_id=harbour&nonce=9wXbNq2kT0&verification_code='],
            ['address-link', 'verify_email', 'link', '/u2/tickets/email-verification?ticket='],
            ['invitation', 'user_invitation', 'link', '/invitation?organization=crew&invitation='],
        ]) {
            const value = what === 'link' ? undefined : digits(6), secret = value ?? token(), url = SITE + route + secret;
            const values = {vendorName: 'Harbour', code: value, inviterName: 'Ida Holm', organizationName: 'Crew', email: 'mara@inbox.example.net', days: 7};
            const said = Object.fromEntries(Object.entries(own).map(([key, line]) =>
                [key, String(line).replace(/\{\{(\w+)\}\}/g, (_, field) => values[field] ?? '')]));
            const scope = {...said, ...values, url, tenant: {friendly_name: 'Harbour'}, branding: {primary_color: '#7d68f4'}, signature: {}, footer: {}};
            part({origin: 'authhero', lang, class: kind, subject: engine.parseAndRenderSync(titles[mail], scope),
                html: engine.parseAndRenderSync(mails[mail], scope), ...(what === 'code' ? {code: value} : {code: value, secret})});
        }
    }
}

// --- Apostrophe ----------------------------------------------------------------------

function apostrophe() {
    // Only the subject is translated.
    const nunjucks = module_('nunjucks');
    const folder = 'apostrophe/modules/@apostrophecms';
    const names = fs.readdirSync(pack(`${folder}/i18n/i18n`)).map((file) => file.replace('.json', ''));
    for (const lang of englishFirst(names)) {
        const secret = token(25), site = 'app.example.com';
        const data = {site, url: `${SITE}/login?reset=${secret}&email=mara%40inbox.example.net`, user: {title: 'Mara'}};
        const html = new nunjucks.Environment(null, {autoescape: true}).renderString(read(`${folder}/login/views/passwordResetEmail.html`), {data});
        part({origin: 'apostrophe', lang, class: 'reset-link', html, secret,
            subject: JSON.parse(read(`${folder}/i18n/i18n/${lang}.json`)).passwordResetRequest.replace('{{ site }}', site)});
    }
}

jhipster();
authhero();
apostrophe();
