"""A function tool in the style of OpenAI's API: the model calls `get_code` by its schema.

The attempt is opened by the program, before the model acts, and never by the model.
"""

import json

from maillatch import Attempt, MaillatchError

TOOL = {
    "type": "function",
    "name": "get_code",
    "description": "Returns the e-mailed verification code of the current sign-up. "
    "Waits up to 60 s. Call it again if the state is not 'found'; do not ask for a new mail.",
    "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
}


def call_tool(attempt: Attempt, name: str, arguments: str) -> str:
    """Answers one tool call of the model. A miss is an answer, not an exception."""
    if name != TOOL["name"] or json.loads(arguments or "{}"):
        return json.dumps({"state": "unknown_tool"})
    try:
        return json.dumps({"state": "found", "code": attempt.code(timeout=60).value})
    except MaillatchError as error:
        return json.dumps({"state": type(error).__name__, "next": str(error)})
