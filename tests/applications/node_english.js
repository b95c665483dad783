// Renders the mails of the Node applications that write only in English.
//
//     APPLICATIONS_NODE=FOLDER node node_english.js
'use strict';
const path = require('node:path');
const {SITE, modules, token, part, module_, pack, read, link, code} = require('./parts.js');

const say = (origin, kind, fields) => part({origin, lang: 'en', class: kind, ...fields});

function directus() {
    const {Liquid} = module_('liquidjs');
    const engine = new Liquid({root: [pack('directus/dist/services/mail/templates')], extname: '.liquid'});
    for (const [kind, file, subject, route] of [
        ['reset-link', 'password-reset', 'Password Reset Request', '/admin/reset-password?token='],
        ['invitation', 'user-invitation', "You've been invited", '/admin/accept-invite?token='],
        ['address-link', 'user-registration', 'Verify your email address', '/users/register/verify-email?token='],
    ]) {
        link('directus', kind, route, (url) => ({subject, html: engine.renderFileSync(file,
            {url, email: 'mara@inbox.example.net', projectName: 'Harbour', projectColor: '#546e7a', projectUrl: SITE})}));
    }
}

function n8n() {
    const handlebars = module_('handlebars');
    const render = (file, values) => handlebars.compile(read('n8n/dist/user-management/email/templates', `${file}.handlebars`))(
        {domain: 'app.example.com', firstName: 'Mara', currentYear: 2026, ...values});
    link('n8n', 'reset-link', '/change-password?mfaEnabled=false&token=', (url) =>
        ({subject: 'n8n password reset', html: render('password-reset-requested', {passwordResetUrl: url})}));
    link('n8n', 'invitation', '/signup?inviterId=7&inviteeId=', (url) =>
        ({subject: 'You have been invited to n8n', html: render('user-invited', {inviteAcceptUrl: url})}));
}

function unleash() {
    const mustache = module_('mustache');
    const render = (name, kind, values) => mustache.render(read('unleash/dist/mailtemplates', name, `${name}.${kind}.mustache`),
        {name: 'Mara', year: 2026, unleashUrl: SITE, ...values});
    for (const [kind, name, subject, field, route] of [
        ['reset-link', 'reset-password', 'Unleash - Reset your password', 'resetLink', '/reset-password?token='],
        ['invitation', 'getting-started', 'Welcome to Unleash', 'passwordLink', '/new-user?token='],
    ]) {
        link('unleash', kind, route, (url) => ({subject, text: render(name, 'plain', {[field]: url}), html: render(name, 'html', {[field]: url})}));
    }
}

function strapi() {
    const {template} = module_('lodash');
    const admin = require(pack('strapi-admin/dist/server/server/src/config/email-templates/forgot-password.js'));
    link('strapi', 'admin-reset-link', '/admin/auth/reset-password?code=', (url) =>
        ({subject: admin.subject, text: template(admin.text)({url}), html: template(admin.html)({url})}));
    // The templates are written into the store at the first start.
    const [, source] = read('strapi-users/dist/server/bootstrap/index.js').match(/const value = (\{\s*reset_password[^]*?\n {12}\});/);
    const mails = new Function(`return ${source}`)();
    for (const [kind, mail, route] of [['reset-link', mails.reset_password, '/reset-password'],
        ['address-link', mails.email_confirmation, '/api/auth/email-confirmation']]) {
        const secret = token();
        const html = template(mail.options.message)({URL: SITE + route, TOKEN: secret, CODE: secret, USER: {}});
        say('strapi', kind, {subject: mail.options.object, html, secret});
    }
}

function loopback() {
    const ejs = module_('ejs');
    link('loopback', 'address-link', '/api/users/confirm?uid=7&redirect=/&token=', (verifyHref) =>
        ({subject: 'Thanks for Registering', html: ejs.render(read('loopback/templates/verify.ejs'), {verifyHref})}));
}

function accounts() {
    const {emailTemplates} = require(path.join(modules, '@accounts/server/lib/utils/email.js'));
    for (const [kind, name, route] of [['address-link', 'verifyEmail', '/verify-email/'], ['reset-link', 'resetPassword', '/reset-password/'],
        ['invitation', 'enrollAccount', '/enroll-account/'], ['login-link', 'magicLink', '/magic-link/']]) {
        const mail = emailTemplates[name];
        link('accounts-js', kind, route, (url) => ({subject: mail.subject(), text: mail.text({}, url), html: mail.html({}, url)}));
    }
    const {subject, text, html} = emailTemplates.passwordChanged;
    say('accounts-js', 'password-changed', {subject: subject(), text: text(), html: html()});
}

function supertokens() {
    const recipe = (name) => require(path.join(modules, 'supertokens-node/lib/build/recipe', name));
    const login = recipe('passwordless/emaildelivery/services/smtp/passwordlessLogin.js').getPasswordlessLoginEmailHTML;
    const html = (url, value) => ({subject: 'Login to your account', html: login('Harbour', 'mara@inbox.example.net', 900000, url, value)});
    code('supertokens', 'login-code', (value) => html(undefined, value));
    link('supertokens', 'login-link', '/auth/verify?preAuthSessionId=', (url) => html(url, undefined));
    code('supertokens', 'login-code-and-link', (value) => {
        const secret = token();
        return {secret, ...html(`${SITE}/auth/verify?preAuthSessionId=${secret}`, value)};
    });
    const {getEmailVerifyEmailHTML} = recipe('emailverification/emaildelivery/services/smtp/emailVerify.js');
    link('supertokens', 'address-link', '/auth/verify-email?token=', (url) =>
        ({subject: 'Email verification instructions', html: getEmailVerifyEmailHTML('Harbour', 'mara@inbox.example.net', url)}));
    const {getPasswordResetEmailHTML} = recipe('emailpassword/emaildelivery/services/smtp/passwordReset.js');
    link('supertokens', 'reset-link', '/auth/reset-password?token=', (url) =>
        ({subject: 'Password reset instructions', html: getPasswordResetEmailHTML('Harbour', 'mara@inbox.example.net', url)}));
}

async function modern() {
    const {html, text} = await import(path.join(modules, '@auth/core/lib/utils/email.js'));
    const host = 'app.example.com';
    link('auth.js', 'login-link', '/api/auth/callback/nodemailer?callbackUrl=%2F&token=', (url) =>
        ({subject: `Sign in to ${host}`, text: text({url, host}), html: html({url, host, theme: {}})}));
    const {default: connector} = await import(path.join(modules, '@logto/connector-smtp/lib/index.js'));
    for (const {content, subject, usageType} of (await connector({})).metadata.formItems.find(({key}) => key === 'templates').defaultValue) {
        code('logto', usageType, (value) => ({subject, text: content.replaceAll('{{code}}', value)}));
    }
}

for (const render of [directus, n8n, unleash, strapi, loopback, accounts, supertokens]) render();
modern();
