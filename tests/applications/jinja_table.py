"""The applications that use Jinja: their mails, and the paths of the links in them."""

# For each application: templates, translations, their domain, and the mails. A mail has
# its template, its subject (as in the code of the application, or a template), and what it is.
APPS = {
    "Flask-Security-Too": ("flask_security/templates/security/email", "flask_security/translations", "flask_security", {
        "address-link": ("confirmation_instructions", "EMAIL_SUBJECT_CONFIRM", "link"),
        "login-link": ("login_instructions", "EMAIL_SUBJECT_PASSWORDLESS", "link"),
        "reset-link": ("reset_instructions", "EMAIL_SUBJECT_PASSWORD_RESET", "link"),
        "change-link": ("change_email_instructions", "CHANGE_EMAIL_SUBJECT", "link"),
        "welcome-link": ("welcome", "EMAIL_SUBJECT_REGISTER", "link"),
        "two-factor-code": ("two_factor_instructions", "EMAIL_SUBJECT_TWO_FACTOR", "code"),
        "sign-in-code": ("us_instructions", "US_EMAIL_SUBJECT", "code"),
        "sign-in-code-and-link": ("us_instructions", "US_EMAIL_SUBJECT", "both"),
        "password-changed": ("reset_notice", "EMAIL_SUBJECT_PASSWORD_NOTICE", "nothing"),
    }),
    "canaille": ("canaille/templates", "canaille/translations", "messages", {
        "login-code": ("core/mails/email_otp", "One-time passcode authentication on {website_name}", "code"),
        "reset-code": ("core/mails/reset", "Password reset on {website_name}", "code"),
        "reset-link": ("core/mails/reset", "Password reset on {website_name}", "link"),
        "first-login": ("core/mails/firstlogin", "Password initialization on {website_name}", "link"),
        "invitation": ("core/mails/invitation", "You have been invited to create an account on {website_name}", "link"),
        "address-link": ("core/mails/email-confirmation", "Confirm your email address on {website_name}", "link"),
        "registration": ("core/mails/registration", "Continue your registration on {website_name}", "link"),
    }),
    "ckan": ("ckan/templates", "ckan/i18n", "ckan", {
        "reset-link": ("emails/reset_password", "emails/reset_password_subject.txt", "link"),
        "invitation": ("emails/invite_user", "emails/invite_user_subject.txt", "link"),
    }),
    "indico": (("indico/modules/auth/templates", "indico/web/templates"), "indico/translations", "messages", {
        "reset-link": ("emails/reset_password", None, "link"),
        "address-link": ("emails/register_verify_email", None, "link"),
        "identity-link": ("emails/link_identity_verify_email", None, "link"),
    }),
}
# The paths of the links, by application or by template.
PATHS = {
    "confirmation_instructions": "/confirm/{}", "welcome": "/confirm/{}", "login_instructions": "/login/{}",
    "reset_instructions": "/reset/{}", "change_email_instructions": "/change-email/{}",
    # This link has the code in it, too.
    "us_instructions": "/us-verify-link?id={}&code={}",
    "core/mails/email-confirmation": "/email-confirmation/bWFyYQ/{}", "core/mails/registration": "/register/bWFyYQ/{}",
    "core/mails/invitation": "/register/bWFyYQ/{}", "canaille": "/reset/mara/{}", "ckan": "/user/reset/7?key={}",
    "emails/reset_password": "/reset-password/?token={}", "emails/register_verify_email": "/register/?token={}",
    "emails/link_identity_verify_email": "/login/link-account?token={}",
}
