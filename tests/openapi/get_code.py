"""The README's example for an agent, with the client that openapi-python-client makes."""

import os
import subprocess
import sys
import uuid

from generated import AuthenticatedClient
from generated.api.attempts import consume_attempt, finish_attempt, open_attempt
from generated.models import (
    Attempt,
    AttemptDisclosure,
    AttemptWish,
    ConsumeWish,
    Outcome,
    Report,
)

client = AuthenticatedClient(
    base_url=os.environ["MAILLATCH_URL"], token=os.environ["MAILLATCH_KEY"], timeout=None
)
attempt = open_attempt.sync(client=client, body=AttemptWish(from_=["example.com"]))
assert isinstance(attempt, Attempt), attempt
trigger = [os.environ["MAILLATCH_BIN"], "trigger", "otp", "--to", attempt.inbox]
subprocess.run(trigger, check=True, stdout=sys.stderr)
key = str(uuid.uuid4())
while True:
    answer = consume_attempt.sync(
        attempt.id, client=client, body=ConsumeWish(wait=25), idempotency_key=key
    )
    if not isinstance(answer, Attempt):
        break
assert isinstance(answer, AttemptDisclosure), answer
finished = finish_attempt.sync(attempt.id, client=client, body=Report(outcome=Outcome.SUCCEEDED))
assert isinstance(finished, Attempt), finished
print(answer.value)
