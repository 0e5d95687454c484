"""Whether a store holds reports to the survey as it is now: with other mechanisms, estimates are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from extremal.errors import SurveyError

if TYPE_CHECKING:
    from extremal.collection.published import Published
    from extremal.collection.store import Store


def check_mechanisms(survey: str, store: Store) -> None:
    """Refuse a store whose reports were drawn with other mechanisms: those beside the survey give wrong estimates."""
    from extremal.collection.designs import load_designs
    from extremal.collection.survey import read_survey

    remedy = (
        "estimate from the store, which holds its own mechanisms: extremal estimate STORE; or put the survey and its "
        "files back as they were"
    )
    try:
        published = load_designs(read_survey(survey))
    except SurveyError as error:
        raise SurveyError(
            f"{survey} must have the mechanisms that drew the reports in {store.place}",
            given=error.problem[:200],
            remedy=remedy,
        ) from None
    now, drew = _mechanisms(published), _mechanisms(store.published)
    changed = [name for name in drew if name in now and now[name] != drew[name]]
    if changed:
        raise SurveyError(
            f"{survey} must have the mechanisms that drew the reports in {store.place}",
            given=f"others for {', '.join(changed)[:200]}",
            remedy=remedy,
        )


def other_version(place: str, published: Published) -> list[str]:
    """A warning if a store holds reports to another version of a survey."""
    from extremal.collection.stored import is_store, stored_digest

    if not is_store(place) or stored_digest(place) in (None, published.digest):
        return []
    return [
        f"WARNING: {place} holds reports for another version of this survey. Do not use the mechanism files beside the "
        f"survey for them: `extremal estimate {place}` reads the right ones from the store. Choose another --database "
        "for this version."
    ]


def _mechanisms(published: Published) -> dict[str, list[str]]:
    """The digests of the mechanisms of each question."""
    return {question.name: [m.digest for m in question.mechanisms] for question in published.questions}
