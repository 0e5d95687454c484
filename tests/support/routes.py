"""A survey whose questions depend on answers, private and open ones, in two languages; and ways through it."""

from tests.support.survey_site import certified, word_for

VISITS = certified({"never": 0.5, "once": 0.3, "often": 0.2}, 0.4)
PAIN = certified({"yes": 0.2, "no": 0.3, "not asked": 0.5}, 0.4)
PILLS = certified({"00": 0.2, "01": 0.1, "10": 0.1, "11": 0.1, "not asked": 0.5}, 0.4)
WORK = certified({"good": 0.6, "bad": 0.4}, 0.4)
WENT = {"question": "visits", "answers": ["once", "often"]}
HURT = {"question": "pain", "answers": ["yes"]}
HAS_JOB = {"question": "job", "answers": ["yes"]}


def single(name, answers, mechanisms, **more):
    words = {
        "en": {"text": f"{name}?", "answers": answers},
        "ar": {"text": f"{name}؟", "answers": [f"ع {answer}" for answer in answers]},
    }
    kind = "single" if mechanisms else "clear"
    return (
        {"name": name, "text": f"{name}?", "kind": kind, "answers": answers, "words": words, **more},
        mechanisms,
    )


QUESTIONS = [
    single("visits", ["never", "once", "often"], [VISITS]),
    single("pain", ["yes", "no"], [PAIN], ask_if=WENT),
    single("pills", ["A", "B"], [PILLS], ask_if=HURT, kind="several", form="joint"),
    single("job", ["yes", "no"], []),
    single("work", ["good", "bad"], [WORK], ask_if=HAS_JOB),
]
BOTH = {"languages": ["en", "ar"], "words": {"ar": {"title": "الصحة"}}}
# (answer to visits, to pain or None where it is skipped, items or None)
WAYS = [(0, None, None), (1, 1, None), (1, 0, [0]), (2, 0, [0, 1]), (2, 0, [2])]
LABELS = {None: "not asked", (0,): "10", (0, 1): "11", (2,): "00"}


def words_for(way, reports):
    """Words from which a way gives these reports, and one for the question on work."""
    visits, pain, pills = way
    return [
        word_for(VISITS, ["never", "once", "often"][visits], reports[0]),
        word_for(PAIN, "not asked" if pain is None else ["yes", "no"][pain], reports[1]),
        word_for(PILLS, LABELS[None if pills is None else tuple(pills)], reports[2]),
        word_for(WORK, "good", reports[3]),
    ]
