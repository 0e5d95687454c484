"""XLSForms, as openpyxl writes them."""

import pytest

HEADER = ["type", "name", "label::English (en)", "hint::English (en)", "required", "relevant"]
GARBLED = [*HEADER, "garbling::answer", "garbling::rate", "garbling::covariate"]
CHOICES = [
    ["list_name", "name", "label::English (en)"],
    ["yn", "yes", "Yes"],
    ["yn", "no", "No"],
    ["sex", "f", "Female"],
    ["sex", "m", "Male"],
    ["sy", 1, "Cough"],
    ["sy", 2.0, "Fever"],
    ["sy", 3, "Pain"],
]


def form(path, *rows, header=HEADER, choices=CHOICES, settings=(("form_title",), ("Health",))):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "survey"
    for name, lines in (("survey", [header, *rows]), ("choices", choices), ("settings", settings)):
        sheet = book[name] if name in book.sheetnames else book.create_sheet(name)
        for line in lines:
            sheet.append(list(line))
    book.save(path)
    return path


def one_garbled(path):
    """A form with one question, garbled in blocks at the rate 0.4."""
    row = ["select_one yn", "harassed", "Were you harassed?", *[None] * 3, "yes", 0.4, "*"]
    return form(path, row, header=GARBLED)
