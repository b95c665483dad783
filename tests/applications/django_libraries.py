"""Django, libraries for it, and smaller applications: where their templates and translations are, and what each mail is.

`is` says what a mail holds: a link (the usual case), a code, nothing, or a link that must
not be returned. The paths in `urls` and `link` are those of the application.
"""

from secrets_of import some

ALLAUTH = "account/email/{}_{}.txt"


def plain(subject, text, **more):
    return {"subject": subject, "text": text, **more}


def djoser(name, **more):
    return {"blocks": f"email/{name}.html", **more}


def allauth(name, **more):
    return {"subject": ALLAUTH.format(name, "subject"), "text": ALLAUTH.format(name, "message"), **more}


def allauth_code(**form):
    """The generator of allauth. Its own form is letters; a site may ask for digits."""
    from allauth.core.internal import cryptokit
    # Its source of chance cannot be repeated.
    cryptokit.get_random_string = lambda length, allowed_chars: some(allowed_chars, length)
    return cryptokit.generate_user_code(**form)


def letters():
    return allauth_code()


def numbers():
    return allauth_code(numeric=True, dashed=False, length=6)


APPS = {
    "Django": {
        "locales": ["django/contrib/auth/locale"],
        "urls": {"password_reset_confirm": "accounts/reset/<uidb64>/<token>/"},
        "mails": {"reset-link": plain("registration/password_reset_subject.txt", "registration/password_reset_email.html")},
    },
    "django-allauth": {
        "templates": ["allauth/templates"], "locales": ["allauth/locale"], "tags": ["account"],
        "link": "/accounts/confirm-email/Nw:1wXqZk:{}/",
        "mails": {
            "address-link": allauth("email_confirmation", unset="code"),
            "address-code": allauth("email_confirmation", make=letters, **{"is": "code"}),
            "address-digits": allauth("email_confirmation", make=numbers, **{"is": "code"}),
            "login-code": allauth("login_code", make=letters, **{"is": "code"}),
            "login-digits": allauth("login_code", make=numbers, **{"is": "code"}),
            "reset-code": allauth("password_reset_code", make=letters, **{"is": "code"}),
            "reset-digits": allauth("password_reset_code", make=numbers, **{"is": "code"}),
            "reset-link": allauth("password_reset_key", link="/accounts/password/reset/key/7-{}/"),
            "password-changed": allauth("password_changed", **{"is": "nothing"}),
        },
    },
    "djoser": {
        "templates": ["djoser/templates"], "locales": ["djoser/locale"], "relative": True, "link": "activate/Nw/{}",
        "mails": {"activation-link": djoser("activation"), "reset-link": djoser("password_reset", link="password/reset/confirm/Nw/{}"),
                  "username-link": djoser("username_reset", link="username/reset/confirm/Nw/{}"), "welcome": djoser("confirmation", **{"is": "nothing"}),
                  "password-changed": djoser("password_changed_confirmation", **{"is": "nothing"})},
    },
    "django-registration-redux": {
        "templates": ["registration/templates"], "locales": ["registration/locale"],
        "urls": {"registration_activate": "accounts/activate/<key>/",
                 "auth_password_reset_confirm": "accounts/password/reset/confirm/<uid>/<token>/"},
        "mails": {
            "activation-link": plain("registration/activation_email_subject.txt", "registration/activation_email.txt",
                                     html="registration/activation_email.html"),
            "reset-link": plain("registration/password_reset_subject.txt", "registration/password_reset_email.html"),
        },
    },
    "django-invitations": {
        "templates": ["invitations/templates"], "locales": ["invitations/locale"], "link": "/invitations/accept-invite/{}",
        "mails": {"invitation": plain("invitations/email/email_invite_subject.txt", "invitations/email/email_invite_message.txt")},
    },
    "django-helpdesk": {
        "templates": ["helpdesk/templates"], "locales": ["helpdesk/locale"],
        "urls": {"helpdesk:password_reset_confirm": "helpdesk/password-reset/<uidb64>/<token>/"},
        "mails": {"reset-link": plain("helpdesk/registration/password_reset_subject.txt",
                                      "helpdesk/registration/password_reset_email.html")},
    },
    "django-shop": {
        "templates": ["shop/templates"], "locales": ["shop/locale"],
        "mails": {"reset-link": plain("shop/email/password-reset-subject.txt", "shop/email/password-reset-body.txt")},
    },
    "django-rest-registration": {
        "templates": ["rest_registration/templates"], "locales": ["rest_registration/locale"],
        "mails": {kind: plain(f"rest_registration/{name}/subject.txt", f"rest_registration/{name}/body.txt",
                              link=f"/{path}/?user_id=7&timestamp=1794819600&signature={{}}")
                  for kind, name, path in (("activation-link", "register", "verify-user"), ("address-link", "register_email", "verify-email"),
                                           ("reset-link", "reset_password", "reset-password"))},
    },
    "rdmo": {
        "templates": ["rdmo/accounts/templates", "rdmo/projects/templates"], "locales": ["rdmo/locale"], "tags": ["core_tags", "accounts_tags"],
        "link": "/projects/join/{}/", "values": {"project": {"title": "Lantern"}},
        "mails": {"reset-link": plain(ALLAUTH.format("password_reset_key", "subject"), ALLAUTH.format("password_reset_key", "message"),
                                      link="/account/password/reset/key/7-{}/"),
                  "invitation": plain("projects/email/project_invite_subject.txt", "projects/email/project_invite_message.txt")},
    },
    "juntagrico": {
        "templates": ["juntagrico/templates"], "locales": ["juntagrico/locale"], "tags": ["juntagrico.config"], "source": "de",
        "urls": {"password_reset_confirm": "accounts/reset/<uidb64>/<token>/"},
        "mails": {"address-link": plain("E-Mail-Adresse bestätigen", "mails/member/email_confirm.txt")},
    },
}
