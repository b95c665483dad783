// Renders the mails of more Node applications that write only in English.
//
//     APPLICATIONS_NODE=FOLDER node node_services.js
'use strict';
const fs = require('node:fs');
const {SITE, digits, token, part, module_, pack, read, link, code} = require('./parts.js');

const handlebars = module_('handlebars');

function vendure() {
    // As its loader puts them together: Handlebars with two partials, then MJML.
    const mjml = module_('mjml');
    const engine = handlebars.create();
    for (const name of ['header', 'footer']) engine.registerPartial(name, read(`vendure/templates/partials/${name}.hbs`));
    for (const [kind, file, subject, route, url, field] of [
        ['address-link', 'email-verification', 'Please verify your email address', '/verify', 'verifyEmailAddressUrl', 'verificationToken'],
        ['reset-link', 'password-reset', 'Forgotten password reset', '/password-reset', 'passwordResetUrl', 'passwordResetToken'],
        ['change-link', 'email-address-change', 'Please verify your change of email address', '/verify-email-address-change',
            'changeEmailAddressUrl', 'identifierChangeToken'],
    ]) {
        const secret = token();
        const source = engine.compile(read(`vendure/templates/${file}/body.hbs`))({[url]: SITE + route, [field]: secret});
        part({origin: 'vendure', lang: 'en', class: kind, subject, html: mjml(source).html, secret});
    }
}

function sails() {
    const ejs = module_('ejs');
    const folder = 'sails/lib/core-generators/new/templates/views';
    for (const [kind, file, subject, route] of [
        ['address-link', 'email-verify-account', 'Please confirm your account', '/email/confirm?token='],
        ['change-link', 'email-verify-new-email', 'Your account has been updated', '/email/confirm?token='],
        ['reset-link', 'email-reset-password', 'Password reset instructions', '/password/new?token='],
    ]) {
        link('sails', kind, route, (url, secret) => {
            const values = {fullName: 'Mara Lind', token: secret, url: require('node:url'), sails: {config: {custom: {baseUrl: SITE}}}};
            const body = ejs.render(read(`${folder}/emails/${file}.ejs`), values);
            return {subject, html: ejs.render(read(`${folder}/layout-email.ejs`), {...values, body})};
        });
    }
}

function reaction() {
    const text = (name) => read(`reaction/src/templates/accounts/${name}.js`).match(/export default `([^]*)`;/)[1];
    const values = {shopName: 'Harbour', contactEmail: 'shop@app.example.com', copyrightDate: 2026, legalName: 'Harbour Ltd', emailLogo: SITE + '/logo.png',
        userEmailAddress: 'mara@inbox.example.net', currentUserName: 'Ida Holm', invitedUserName: 'Mara', groupName: 'Crew', socialLinks: {},
        physicalAddress: {address: '4 Quay Road', city: 'Oslo', region: 'Oslo', postal: '0150'}};
    for (const [kind, name, subject, field, route] of [
        ['reset-link', 'resetPassword', "Harbour: Here's your password reset link", 'passwordResetUrl', '/account/reset-password?resetToken='],
        ['address-link', 'verifyEmail', 'Harbour: Please verify your email address', 'confirmationUrl', '/account/verify-email?token='],
        ['change-link', 'verifyUpdatedEmail', 'Verify your new email address', 'confirmationUrl', '/account/verify-email?token='],
        ['welcome-link', 'sendWelcomeEmail', "You're In. Welcome to Harbour!", 'verificationUrl', '/account/verify-email?token='],
        ['invitation', 'inviteNewShopMember', 'You have been invited to join group Crew in the store "Harbour"', 'url', '/account/enroll?token='],
    ]) {
        link('reaction', kind, route, (url) => ({subject, html: handlebars.compile(text(name))({...values, [field]: url})}));
    }
}

function flowise() {
    // The texts of the plain part stand in the code.
    const source = read('flowise/dist/enterprise/utils/sendEmail.js');
    const plain = (name, values) => new Function(...Object.keys(values), `return \`${source.match(new RegExp('`([^`]*\\$\\{' + name + '\\}[^`]*)`'))[1]}\``)(
        ...Object.values(values));
    for (const [kind, file, subject, field, route] of [
        ['address-link', 'verify_email_cloud', 'Action Required: Please verify your email', 'verificationLink', '/verify?token='],
        ['reset-link', 'workspace_user_reset_password', 'Reset your password', 'resetLink', '/reset-password?token='],
        ['change-link', 'confirm_email_change', 'Confirm your email address change', 'confirmLink', '/confirm-email-change?token='],
        ['invitation', 'workspace_new_invite_enterprise', 'You have been invited to Crew', 'registerLink', '/register?token='],
    ]) {
        link('flowise', kind, route, (url) => {
            const values = {[field]: url, workspaceName: 'Crew', newEmail: 'mara@inbox.example.net'};
            return {subject, text: plain(field, values), html: handlebars.compile(read(`flowise/dist/enterprise/emails/${file}.hbs`))(values)};
        });
    }
    part({origin: 'flowise', lang: 'en', class: 'added', subject: 'You have been added to Crew',
        html: handlebars.compile(read('flowise/dist/enterprise/emails/workspace_add_cloud.hbs'))({workspaceName: 'Crew', dashboardLink: SITE + '/'})});
}

function lockit() {
    const ejs = module_('ejs');
    const config = require(pack('lockit/config.default.js'));
    const frame = read('lockit-template/index.html');
    for (const [kind, name, route] of [['registration-link', 'emailSignup', '/signup/'], ['another-link', 'emailResendVerification', '/signup/'],
        ['reset-link', 'emailForgotPassword', '/forgot-password/'], ['address-in-use', 'emailSignupTaken', null]]) {
        const secret = token(), mail = config[name];
        const values = {appname: 'Harbour', username: 'mara', link: `<a href="${SITE}${route}${secret}">${mail.linkText}</a>`};
        part({origin: 'lockit', lang: 'en', class: kind, subject: ejs.render(mail.subject, values), secret: route ? secret : undefined,
            html: ejs.render(ejs.render(frame, {title: mail.title, content: mail.text}), values)});
    }
}

function aspnet() {
    // The texts of the controller that the templates of ASP.NET Core make.
    const source = read('aspnet/templates/projects/mvc/Controllers/AccountController.cs');
    for (const [kind, subject, route] of [['address-link', 'Confirm your account', '/Account/ConfirmEmail?userId=7c1d0e52&code='],
        ['reset-link', 'Reset Password', '/Account/ResetPassword?userId=7c1d0e52&code=']]) {
        const [, text] = source.match(new RegExp(`"${subject}",\\s*(?://)?\\s*\\$"([^"]*)"`));
        link('aspnet', kind, route, (url) => ({subject, html: text.replace('{callbackUrl}', url)}));
    }
    const [, text] = source.match(/var message = "([^"]*)"/);
    code('aspnet', 'login-code', (value) => ({subject: 'Security Code', html: text + value}));
}

function parse() {
    const source = read('parse/lib/Controllers/UserController.js');
    for (const [kind, start, route] of [['address-link', 'You are being asked to confirm', '/apps/harbour/verify_email?token='],
        ['reset-link', 'You requested to reset', '/apps/harbour/request_password_reset?token=']]) {
        const at = source.indexOf(start);
        const [, text] = source.slice(source.lastIndexOf('const text', at)).match(/const text = ([^]*?);\n/);
        const [, subject] = source.slice(at).match(/const subject = ([^;]*);/);
        link('parse-server', kind, route, (url) => {
            const say = (words) => new Function('user', 'appName', 'link', `return ${words}`)(
                {get: (name) => ({email: 'mara@inbox.example.net', username: 'mara'}[name])}, 'Harbour', url);
            return {subject: say(subject), text: say(text)};
        });
    }
}

function passwordless() {
    const {template} = module_('lodash');
    const source = read('strapi-passwordless/server/bootstrap.js');
    const [, html] = source.match(/message_html: `([^`]*)`/), [, text] = source.match(/message_text: `([^`]*)`/);
    link('strapi-passwordless', 'login-link', '/login?loginToken=', (url, secret) => {
        const values = {URL: SITE + '/login', CODE: secret};
        return {subject: 'Passwordless Login', text: template(text)(values), html: template(html)(values)};
    });
}

function evershop() {
    const source = fs.readFileSync(pack('evershop/dist/modules/customer/services/sendResetPasswordEmail.js'), 'utf8');
    const [, html] = source.match(/const TEMPLATE = `([^]*?)`;/);
    link('evershop', 'reset-link', '/account/update-password?token=', (url) => ({subject: 'Reset your password',
        html: handlebars.compile(html)({storeName: 'Harbour', resetPasswordUrl: url, storeInfo: {}, customer: {full_name: 'Mara Lind'}})}));
}

for (const render of [vendure, sails, reaction, flowise, lockit, aspnet, parse, passwordless, evershop]) render();
