"""Reports from outside, over the network or in files: checked against the survey before anything else sees them."""

from __future__ import annotations

from .._common.json import parse_json
from ..errors import SurveyError
from .guard import LARGEST_BODY, Refusal
from .published import Published
from .store import HEX, Submission, token_hash

OTHER_VERSION = "It was made for another version of this survey, and is not counted here."


def parse_submission(published: Published, body: bytes) -> Submission:
    """The submission in the body of a request or in a file, if it fits the survey."""
    try:
        document = parse_json(body, LARGEST_BODY)
    except ValueError:
        raise Refusal(400, "A report must be JSON.") from None
    names = {"survey", "id", "reports"} | ({"token"} if published.invitation else set())
    if not isinstance(document, dict) or document.keys() != names:
        raise Refusal(400, f"A report must have the members {', '.join(sorted(names))}.")
    if document["survey"] != published.digest:
        raise Refusal(409, OTHER_VERSION)
    for name in names & {"id", "token"}:
        if not isinstance(document[name], str) or not HEX.fullmatch(document[name]):
            raise Refusal(400, f"The {name} of a report must be 32 hexadecimal digits.")
    try:
        content = published.content(document["reports"])
    except (SurveyError, ValueError, TypeError) as error:
        raise Refusal(400, f"{str(error)[:1].upper()}{str(error)[1:200]}.") from None
    return Submission(
        document["id"], content, token_hash(document["token"]) if published.invitation else None
    )
