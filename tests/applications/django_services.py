"""More applications that are made with Django: where their templates and translations are, and what each mail is.

`is` says what a mail holds: a link (the usual case), a code, nothing, or a link that must
not be returned. The paths in `urls` and `link` are those of the application.
"""

from django_libraries import plain
from secrets_of import SITE
from sources import text

# Django sends its own subject where an application has none.
RESET = "registration/password_reset_subject.txt"
PINAX = "account/email/{}.txt"
LETTER = "newsletter/message/{}.txt"
PRETALX = "pretalx/person/models/user.py"


def letter(name, **more):
    return {"subject": LETTER.format(name + "_subject"), "text": LETTER.format(name),
            "link": f"/newsletter/harbour-news/subscription/mara@inbox.example.net/{name}/activate/{{}}/", **more}


def pinax(subject, name, **more):
    return plain(PINAX.format(subject), PINAX.format(name), **more)


def bugsink(subject, name, path):
    return {"subject": lambda: subject, "text": f"mails/{name}.txt", "html": f"mails/{name}.html", "link": f"/{path}/{{}}/"}


def pretalx(subject, start, file=PRETALX, **more):
    return {"subject": lambda: text(file, subject), "message": lambda: text(file, start), **more}


def subscription(link, *_):
    urls = {f"{action}_activate_url": link for action in ("subscribe", "unsubscribe", "update")}
    return {"newsletter": {"title": "Harbour News", "sender": "Harbour"}, "subscription": {"name": "Mara", **urls}, "site_url": SITE}


def tendenci(link, token, _):
    return {"site_url": SITE, "next": "/", "user_list": [{"uid": "Nw", "token": token, "user": {"username": "mara"}}]}


APPS = {
    "modoboa": {
        "templates": ["modoboa/templates"], "locales": ["modoboa/locale"],
        "urls": {"password_reset_confirm": "accounts/reset/<uidb64>/<token>/"},
        "mails": {"reset-link": plain(RESET, "registration/password_reset_email.html")},
    },
    "reviewboard": {
        "templates": ["reviewboard/templates"], "locales": ["reviewboard/locale"],
        "urls": {"password_reset_confirm": "account/recover/<uidb64>/<token>/"}, "values": {"PRODUCT_NAME": "Review Board"},
        "mails": {"reset-link": plain(RESET, "accounts/password_reset_email.txt")},
    },
    "wger": {
        "templates": ["wger/core/templates"], "locales": ["wger/locale"],
        "urls": {"core:user:password_reset_confirm": "user/password/reset/check/<uidb64>/<token>"},
        "mails": {"reset-link": plain(RESET, "registration/password_reset_email.html")},
    },
    "evennia": {
        "templates": ["evennia/web/templates/website"],
        "urls": {"password_reset_confirm": "auth/reset/<uidb64>/<token>/"},
        "mails": {"reset-link": plain(RESET, "registration/password_reset_email.html")},
    },
    "openwisp-users": {
        "templates": ["openwisp_users/templates", "openwisp_users/accounts/templates", "allauth/templates"],
        "locales": ["openwisp_users/locale", "openwisp_users/accounts/locale"], "borrows": ["allauth/locale"],
        "tags": ["account"], "link": "/accounts/password/reset/key/7-{}/", "more": lambda link, *_: {"call_to_action_url": link},
        "mails": {"reset-link": plain(RESET, "custom_password_reset_email.txt"),
                  "address-link": plain("account/email/email_confirmation_subject.txt", "account/email/email_confirmation_message.txt",
                                        link="/accounts/confirm-email/Nw:1wXqZk:{}/")},
    },
    "fiduswriter": {
        "templates": ["fiduswriter/user/templates", "fiduswriter/base/templates", "allauth/templates"],
        "locales": ["fiduswriter/locale"], "borrows": ["allauth/locale"], "tags": ["account"],
        "link": "/api/account/confirm-email/{}/",
        "mails": {"address-link": {"subject": "account/email/email_confirmation_subject.txt", "html": "account/email/email_confirmation_message.html"},
                  "reset-link": {"subject": "account/email/password_reset_key_subject.txt", "html": "account/email/password_reset_key_message.html",
                                 "link": "/account/change-password/7-{}/"}},
    },
    "tendenci": {
        "templates": ["tendenci/themes/t7-base/templates"], "locales": ["tendenci/locale"],
        "builtins": ["django.templatetags.i18n"], "more": tendenci,
        "urls": {"password_reset_confirm": "accounts/password/reset/confirm/<uidb64>-<token>/"},
        "mails": {"activation-link": plain("registration/activation_email_subject.txt", "registration/activation_email.txt"),
                  "reset-link": {"subject": "Password reset on %s", "html": "registration/password_reset_email_user_list.html"}},
    },
    "django-newsletter": {
        "templates": ["newsletter/templates"], "locales": ["newsletter/locale"], "relative": True, "more": subscription,
        "mails": {"subscription-link": letter("subscribe"), "update-link": letter("update"),
                  "unsubscription-link": letter("unsubscribe", **{"is": "deny"})},
    },
    "pinax-templates": {
        "templates": ["pinax/templates/templates"], "locales": ["pinax/templates/locale"], "tags": ["account_tags"],
        "mails": {"address-link": pinax("email_confirmation_subject", "email_confirmation_message", link="/account/confirm_email/{}/"),
                  "invitation": pinax("invite_user_subject", "invite_user", link="/account/signup/?code={}"),
                  "reset-link": pinax("password_reset_subject", "password_reset", link="/account/password/reset/7-{}/"),
                  "password-changed": pinax("password_change_subject", "password_change", **{"is": "nothing"})},
    },
    "bugsink": {
        "templates": ["users/templates", "teams/templates", "projects/templates", "bugsink/templates"],
        "values": {"reason": "You have been invited to join \"Crew\".", "team_name": "Crew", "project_name": "Lantern"},
        "mails": {"address-link": bugsink("Confirm your email address", "confirm_email", "accounts/confirm-email"),
                  "reset-link": bugsink("Reset your password", "reset_password_email", "accounts/reset-password"),
                  "welcome-link": bugsink("Welcome to Bugsink", "welcome_email", "accounts/reset-password"),
                  "team-invitation": bugsink('You have been invited to join "Crew"', "team_membership_invite_new_user", "teams/7/members/accept"),
                  "project-invitation": bugsink('You have been invited to join "Lantern"', "project_membership_invite", "projects/7/members/accept")},
    },
    "pretalx": {
        "locales": ["pretalx/locale"], "link": "/orga/reset/{}",
        "more": lambda link, *_: {"invitation_link": link, "organiser": "Harbour Events", "old_email": "m@inbox.example.net"},
        "mails": {"reset-link": pretalx("Password recovery", "Hi {name},\n\nyou have requested a new password"),
                  "invitation": pretalx("You have been invited to an organiser team", "Hi!\nYou have been invited to the {name}",
                                        "pretalx/event/models/organiser.py", link="/orga/invitation/{}"),
                  "password-changed": pretalx("[pretalx] Password changed", "Hi {name},\n\nYour pretalx account password", **{"is": "nothing"}),
                  "address-changed": pretalx("[pretalx] Email address changed", "Hi {name},\n\nThis is a confirmation that the email",
                                             **{"is": "nothing"})},
    },
}
