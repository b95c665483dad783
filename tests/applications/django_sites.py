"""Applications that are made with Django: where their templates and translations are, and what each mail is.

`is` says what a mail holds: a link (the usual case), a code, nothing, or a link that must
not be returned. The paths in `urls` and `link` are those of the application.
"""

import ast
from importlib.util import find_spec
from pathlib import Path

from django_libraries import ALLAUTH, plain
from secrets_of import digits

OSCAR = "oscar/communication/emails/commtype_{}_{}"


def oscar(name, **more):
    return {"subject": OSCAR.format(name, "subject.txt"), "text": OSCAR.format(name, "body.txt"),
            "html": OSCAR.format(name, "body.html"), **more}


def weblate(name, **more):
    return {"subject": f"mail/{name}_subject.txt", "html": f"mail/{name}.html", **more}


def misago(name, context, subject):
    return {"subject": (context, subject), "text": f"misago/emails/{name}.txt", "html": f"misago/emails/{name}.html"}


def pretix_default(key):
    """The text of a setting of pretix. The module needs the whole application, so it is only read."""
    source = Path(find_spec("pretix").submodule_search_locations[0], "base/settings.py").read_text()
    at = source.index(f"'{key}': {{")
    call = source[source.index("gettext_noop(", at) + len("gettext_noop("):]
    return ast.literal_eval(call[:call.index('"))') + 1] if call[0:3] != '"""' else call[:call.index('"""', 3) + 3])


def pretix_customer(name, path):
    return {"link": f"/account/{path}?id=7&token={{}}", "subject": lambda: pretix_default(f"mail_subject_customer_{name}"),
            "message": lambda: pretix_default(f"mail_text_customer_{name}")}


APPS = {
    "wagtail": {
        "templates": ["wagtail/admin/templates"], "locales": ["wagtail/admin/locale"], "tags": ["wagtailadmin_tags"],
        "urls": {"wagtailadmin_password_reset_confirm": "admin/password_reset/confirm/<uidb64>/<token>/"},
        "mails": {"reset-link": plain("wagtailadmin/account/password_reset/email_subject.txt",
                                      "wagtailadmin/account/password_reset/email.txt")},
    },
    "mezzanine": {
        "templates": ["mezzanine/accounts/templates", "mezzanine/core/templates"],
        "locales": ["mezzanine/accounts/locale", "mezzanine/core/locale"], "relative": True,
        "mails": {name: plain(f"email/{file}_subject.txt", f"email/{file}.txt", html=f"email/{file}.html", link=link)
                  for name, file, link in (("activation-link", "signup_verify", "/accounts/verify/7/{}/?next=/"),
                                           ("reset-link", "password_reset_verify", "/accounts/password/verify/7/{}/?next=/"))},
    },
    "django-oscar": {
        "templates": ["oscar/templates"], "locales": ["oscar/locale"], "tags": ["url_tags"], "relative": True,
        "link": "/password-reset/confirm/Nw/{}/",
        "mails": {"reset-link": oscar("password_reset"), "alert-link": oscar("product_alert_confirmation", cancel=True,
                                                                         link="/accounts/alerts/confirm/{}/"),
                  "address-changed": oscar("email_changed", **{"is": "nothing"}),
                  "welcome": oscar("registration", **{"is": "nothing"})},
    },
    "pretix": {
        "templates": ["pretix/control/templates"], "locales": ["pretix/locale"],
        "link": "/control/forgot/recover?id=7&token={}",
        "mails": {
            "reset-link": plain("Reset your password", "pretixcontrol/email/forgot.txt"),
            "invitation": plain("You've been invited to join %(organizer)s", "pretixcontrol/email/invitation.txt", link="/control/invite/{}"),
            "customer-activation": pretix_customer("registration", "activate"), "customer-address": pretix_customer("email_change", "confirmchange"),
            "customer-reset": pretix_customer("reset", "pwrecover"),
            "sender-code": plain("Confirm %(address)s as a sender address", "pretixcontrol/email/email_setup.txt", make=lambda: digits(6), **{"is": "code"}),
            "address-code": plain("Your confirmation code", "pretixcontrol/email/confirmation_code.txt",
                                  say={"reason": "To verify your email address {email} on {instance}, use the following code:"}, make=lambda: digits(7), **{"is": "code"}),
        },
    },
    "weblate": {
        "templates": ["weblate/templates"], "locales": ["weblate/locale"], "relative": True,
        "tags": ["compress", "site_url", "translations"], "link": "/accounts/complete/email/?verification_code={}&partial_token=7c1d0e52",
        "urls": {"contact": "contact/", "profile": "accounts/profile/"},
        "mails": {"activation-link": weblate("activation"), "reset-link": weblate("reset"), "invitation": weblate("invite", link="/invitation/{}/"),
                  "removal-link": weblate("remove", **{"is": "deny"})},
    },
    "misago": {
        "templates": ["misago/templates"], "locales": ["misago/locale"], "tags": ["misago_absoluteurl", "misago_capture"],
        "urls": {"misago:activate-by-token": "activation/<pk>/<token>/", "misago:user-avatar": "avatar/<pk>/<size>/",
                 "misago:forgotten-password-change-form": "forgotten-password/<pk>/<token>/",
                 "misago:options-confirm-email-change": "options/change-email/<token>/",
                 "misago:options-confirm-password-change": "options/change-password/<token>/"},
        "mails": {"activation-link": misago("activation/by_user", "account activation email subject",
                                            "Activate %(user)s account on %(forum_name)s forums"),
                  "address-link": misago("change_email", "confirm email change email subject",
                                         "Confirm e-mail change on %(forum_name)s forums"),
                  "password-link": misago("change_password", "confirm password change email subject",
                                          "Confirm password change on %(forum_name)s forums"),
                  "reset-link": misago("change_password_form_link", "change forgotten password email subject",
                                       "Change %(user)s password on %(forum_name)s forums")},
    },
    "kiwitcms": {
        "templates": ["tcms/templates"], "locales": ["tcms/locale"], "link": "/accounts/confirm/{}/",
        "mails": {"activation-link": plain("Your new %s account confirmation", "email/confirm_registration.txt")},
    },
    "mayan-edms": {
        "templates": ["mayan/apps/authentication/templates"], "locales": ["mayan/apps/authentication/locale"],
        "urls": {"authentication:password_reset_confirm_view": "authentication/password/reset/confirm/<uid>/<token>/"},
        "mails": {"reset-link": plain("authentication/password_reset_subject.txt", "authentication/password_reset_email.html")},
    },
    "geonode": {
        "templates": ["geonode/templates"], "locales": ["geonode/locale"], "tags": ["account"], "link": "/account/confirm-email/Nw:1wXqZk:{}/",
        "mails": {
            "address-link": plain(ALLAUTH.format("email_confirmation", "subject"), ALLAUTH.format("email_confirmation", "message")),
            "reset-link": plain(ALLAUTH.format("password_reset_key", "subject"), "account/email/password_reset_key.txt",
                                link="/account/password/reset/key/7-{}/"),
        },
    },
}
