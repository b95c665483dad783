"""What the views of the Django applications hand to their templates."""

from types import SimpleNamespace

from secrets_of import SITE


class User(SimpleNamespace):
    def __str__(self):
        return "mara"

    get_username = get_full_name = __str__


class Group(SimpleNamespace):
    def __str__(self):
        return "Crew"


def context(app, mail, token, code):
    """What the views hand to the templates, under the names that the applications use."""
    link = mail.get("link", app.get("link", "/confirm/{}")).format(token)
    whole = link if app.get("relative") else SITE + link
    site = SimpleNamespace(name="Harbour", domain="app.example.com")
    alert = SimpleNamespace(get_confirm_url=link, get_cancel_url=f"/accounts/alerts/cancel/key/{token[::-1]}/",
                            product=SimpleNamespace(get_title="Lantern"))
    names = "url activate_url password_reset_url reset_url verify_url confirm_url invite_url signup_url verification_url".split()
    request = SimpleNamespace(scheme="https", get_host="app.example.com")
    invitation = SimpleNamespace(user=None, get_absolute_url=link, author=SimpleNamespace(full_name="Ida Holm", username="ida"),
                                 group=Group(defining_project="Lantern"))
    return {
        "site": site, "current_site": site, "site_name": "Harbour", "site_title": "Harbour", "domain": "app.example.com",
        "site_domain": "app.example.com", "protocol": "https", "current_site_url": SITE, "project_title": "Harbour",
        "project_website": SITE, "request": request, "instance": "Harbour", "organizer": "Harbour Events", "team": "Crew",
        "settings": SimpleNamespace(forum_name="Harbour", forum_address=SITE), "forum_host": "app.example.com",
        "user": User(pk=7, username="mara", full_name="Mara Lind", first_name="Mara", email="mara@inbox.example.net",
                     USERNAME_FIELD="username", account=SimpleNamespace(now="16 Nov 2026")),
        "username": "mara", "email": "mara@inbox.example.net", "address": "mara@inbox.example.net",
        "new_email": "mara@inbox.example.net", "uid": "Nw", "token": token, "activation_token": token, "activation_key": token,
        "confirmation_token": token, "hash": token, "serverurl": SITE, "forum_name": "Harbour", "name": "Mara",
        "ip": "192.0.2.7", "user_agent": "Firefox", "timestamp": "16 Nov 2026",
        "password_reset_confirm_url": "/password-reset-confirm/",
        "code": code, "validity": 48, "expiration_days": 7, "inviter": "ida", "inviter_name": "ida", "alert": alert,
        "invitation": invitation, **{name: whole for name in names}, **app.get("values", {}),
        **app.get("more", lambda *_: {})(whole, token, code),
    }
