"""Libraries for Django that send a code or a link to sign in.

A site may replace each text. These are the texts that are sent if it does not.
"""

from datetime import timedelta

from django.utils.timezone import now

from django_libraries import plain
from secrets_of import digits, some

CODE = {"is": "code"}


def constant(subject, **more):
    return {"subject": lambda: subject, **more}


def otp(_, __, code):
    return {"token": code, "otp": code, "callback_token": code}


def magic(link, *_):
    return {"magiclink": link, "subject": "Your login magic link", "expiry": now() + timedelta(minutes=5, seconds=30)}


APPS = {
    "django-otp": {
        "more": otp, "templates": ["django_otp/plugins/otp_email/templates"], "locales": ["django_otp/locale"],
        "mails": {"login-code": constant("OTP token", text="otp/email/token.txt", make=lambda: digits(6), **CODE)},
    },
    "django-trench": {
        "templates": ["trench/templates"], "locales": ["trench/locale"],
        "mails": {"login-code": plain("Your verification code", "trench/backends/email/code.txt", html="trench/backends/email/code.html",
                                      make=lambda: digits(6), **CODE)},
    },
    "django-mfa2": {
        "more": otp, "templates": ["mfa/templates"],
        "mails": {"login-code": constant("OTP", html="Email/mfa_email_token_template.html", make=lambda: digits(5), **CODE)},
    },
    "drfpasswordless": {
        "more": otp, "templates": ["drfpasswordless/templates"],
        "mails": {"login-code": constant("Your Login Token", html="passwordless_default_token_email.html", make=lambda: digits(6), **CODE),
                  "address-code": constant("Your Verification Token", html="passwordless_default_verification_token_email.html",
                                           make=lambda: digits(6), **CODE)},
    },
    "django-magiclink": {
        "more": magic, "templates": ["magiclink/templates"], "link": "/auth/login/verify/?token={}&email=mara%40inbox.example.net",
        "mails": {"login-link": constant("Your login magic link", text="magiclink/login_email.txt", html="magiclink/login_email.html")},
    },
    "django-nopassword": {
        "templates": ["nopassword/templates"], "link": "/accounts/login/code/?user=7&code={}",
        "mails": {"login-code-and-link": plain("registration/login_subject.txt", "registration/login_email.txt",
                                               make=lambda: some("0123456789abcdef", 64), **{"is": "both"})},
    },
    "django-verify-email": {
        "more": lambda link, *_: {"link": link}, "templates": ["verify_email/templates"],
        "link": "/verification/user/verify-email/bWFyYUBpbmJveC5leGFtcGxlLm5ldA==/{}/",
        "mails": {"address-link": constant("Email Verification Mail", html="verify_email/email_verification_msg.html")},
    },
}
