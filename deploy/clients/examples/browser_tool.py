"""A tool for a browser agent in the style of browser-use: one action, registered by name."""

from typing import Awaitable, Callable

from maillatch import AsyncAttempt, MaillatchError

Action = Callable[[], Awaitable[str]]


def register(action: Callable[[str], Callable[[Action], Action]], attempt: AsyncAttempt) -> Action:
    """Registers the action with an agent's `tools.action` decorator."""

    @action("Get the e-mailed verification code for the current sign-up. Waits up to 90 s.")
    async def get_code() -> str:
        try:
            return (await attempt.code(timeout=90)).value
        except MaillatchError as error:
            return f"There is no code. {error}"

    return get_code
