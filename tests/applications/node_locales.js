// Renders the mails of the Node applications that have translations.
//
//     APPLICATIONS_NODE=FOLDER node node_locales.js
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const {SITE, modules, digits, token, part, module_, pack, read, englishFirst} = require('./parts.js');

// --- Ghost ---------------------------------------------------------------------------

function ghost() {
    const services = (name) => pack(`ghost/core/server/services/${name}`);
    // The module with the subjects and texts needs the whole application. The functions do not.
    const source = fs.readFileSync(services('members/api.js'), 'utf8');
    const [trim] = source.match(/^function trimLeadingWhitespace[^]*?^}/m);
    const methods = source.slice(source.indexOf('getSubject(type) {'), source.indexOf('getHTML(url, type, email)'));
    const texts = new Function('t', 'settingsCache', `${trim}\nreturn {${methods}};`);
    const [, codeSubject] = fs.readFileSync(services('auth/session/session-service.js'), 'utf8').match(/subject: `(\$\{token\}[^`]*)`/);
    const locales = englishFirst(fs.readdirSync(pack('ghost-i18n/locales')).filter((name) => !name.includes('.')));
    const email = 'mara@inbox.example.net', siteTitle = 'Harbour', siteDomain = 'app.example.com', siteUrl = SITE + '/';
    for (const lang of locales) {
        const {t} = require(pack('ghost-i18n'))(lang, 'ghost');
        const say = texts(t, {get: () => siteTitle});
        for (const [kind, file] of [['signin', 'signin'], ['signup', 'signup'], ['signup-paid', 'signup-paid'],
            ['subscribe', 'subscribe'], ['updateEmail', 'update-email']]) {
            const secret = token(32), url = `${SITE}/members/?token=${secret}&action=${kind}`;
            const html = require(services(`members/emails/${file}.js`))({t, siteTitle, email, url, siteDomain, siteUrl});
            part({origin: 'ghost', lang, class: `${file}-link`, subject: say.getSubject(kind),
                text: say.getText(url, kind, email), html, secret});
        }
        const code = digits(6);
        const deviceDetails = {device: 'Firefox, Linux', location: 'Oslo, Norway', time: '16 Nov 2026, 09:00 UTC'};
        const html = require(services('auth/session/emails/signin.js'))(
            {t, siteTitle, email, siteDomain, siteUrl, siteLogo: null, token: code, deviceDetails, is2FARequired: false});
        part({origin: 'ghost', lang, class: 'device-code', subject: codeSubject.replace('${token}', code), html, code});
    }
}

// --- Payload -------------------------------------------------------------------------

async function payload() {
    const folder = path.join(modules, '@payloadcms/translations/dist');
    const {t: say} = await import(path.join(folder, 'utilities/init.js'));
    const names = fs.readdirSync(path.join(folder, 'languages')).filter((name) => /^[A-Za-z]+\.js$/.test(name));
    for (const name of englishFirst(names)) {
        const language = Object.values(await import(path.join(folder, 'languages', name))).find((value) => value.translations);
        const {dateFNSKey, translations} = language;
        const lang = dateFNSKey === 'en-US' ? 'en' : dateFNSKey;
        const t = (key, vars) => say({key, translations, vars});
        let secret = token();
        // As sendVerificationEmail and forgotPassword of the package put them together.
        part({origin: 'payload', lang, class: 'address-link', subject: t('authentication:verifyYourEmail'), secret,
            html: t('authentication:newAccountCreated', {serverURL: SITE, verificationURL: `${SITE}/admin/users/verify/${secret}`})});
        secret = token();
        const url = `${SITE}/admin/reset/${secret}`;
        part({origin: 'payload', lang, class: 'reset-link', subject: t('authentication:resetYourPassword'), secret,
            html: `${t('authentication:youAreReceivingResetPassword')}
    <a href="${url}">${url}</a>
    ${t('authentication:youDidNotRequestPassword')}`});
    }
}

// --- NodeBB --------------------------------------------------------------------------

function nodebb() {
    const templates = module_('templates.js');
    const locales = fs.readdirSync(pack('nodebb/public/language')).filter((name) => fs.existsSync(pack(`nodebb/public/language/${name}/email.json`)));
    for (const lang of englishFirst(locales)) {
        const words = JSON.parse(read('nodebb/public/language', lang, 'email.json'));
        const translate = (text) => text.replace(/\[\[email:([\w.-]+)((?:,[^\]]*)?)\]\]/g, (_, key, values) =>
            values.split(',').slice(1).reduce((line, value, at) => line.replace(`%${at + 1}`, value.trim()), words[key] ?? key));
        for (const [kind, file, subject, route] of [
            ['address-link', 'welcome', '[[email:welcome-to, Harbour]]', '/confirm/'],
            ['reset-link', 'reset', '[[email:password-reset-requested, Harbour]]', '/reset/'],
            ['invitation', 'invitation', '[[email:invite, Harbour]]', '/register?token='],
            ['password-changed', 'reset_notify', '[[email:reset.notify.subject]]', null],
        ]) {
            const secret = token(36), link = SITE + route + secret;
            const source = read(`nodebb/src/views/emails/${file}.tpl`)
                .replace(/<!-- IMPORT (\S+) -->/g, (_, name) => read('nodebb/src/views', name));
            const html = translate(templates.parse(source, {username: 'mara', site_title: 'Harbour', date: '16 Nov 2026', url: SITE,
                confirm_link: link, reset_link: link, registerLink: link}));
            part({origin: 'nodebb', lang, class: kind, subject: translate(subject), html, secret: route ? secret : undefined});
        }
    }
}

ghost();
nodebb();
payload();
