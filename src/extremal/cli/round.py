"""extremal round: numbers to points of a grid, at random and without bias, so that they can be privatised."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

import extremal as ex
from extremal.errors import FileError, OptionError, ValuesError

from . import options, show
from .inputs import file_or_stdin, load_key
from .output import check_own_files, check_table, check_target
from .progress import progress


def command(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help='CSV or Parquet file with numbers; "-" for a pipe.')
    ],
    column: Annotated[str, typer.Option(metavar="NAME", help="The column of numbers.")],
    points: Annotated[
        str,
        typer.Option(
            metavar="A,B,C",
            help="The points, increasing. The first and the last are the limits of the numbers.",
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The same table with points, as .csv, .parquet or .json."
        ),
    ],
    clip: Annotated[
        bool,
        typer.Option(
            "--clip", help="Move numbers beyond a limit to that limit; without it they are refused."
        ),
    ] = False,
    key_file: options.KeyFile = None,
    id_column: options.IdColumn = None,
    occasion: options.Occasion = None,
    overwrite: options.Overwrite = False,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
) -> None:
    """Round numbers at random to a few points, so that they can be answers of a mechanism.

    A number between two points becomes one of them, with probabilities that keep its mean: 340 between 0 and 1000
    becomes 1000 with probability 0.34. So on average the mean stays the same. Rounding alone protects nobody:
    privatize the result next, with a mechanism that was designed with --utility mean. If you privatize it with a key,
    round it with the same key, ids and occasion, or a second run can give other points and so second reports.
    """
    from extremal._common.frames import encode_table, table_kind
    from extremal.draw.keys import check_given_name
    from extremal.release.files.atomic import new_file
    from extremal.release.files.read import read_texts
    from extremal.release.files.source import open_data

    if output == "-":
        raise FileError("numbers must be rounded into a file", given="-o -", remedy="it holds true answers")
    check_target(output, overwrite)
    check_table(output)
    check_own_files(output, [] if key_file is None else [key_file], "the key")
    grid = _grid(points)
    key = None if key_file is None else load_key(key_file)
    if key is not None:
        check_given_name(column)
    with file_or_stdin(source, format) as (path, kind), progress("rounding"):
        data = open_data(path, [column, *([] if id_column is None else [id_column])], kind, delimiter)
        table = {name: read_texts(data, name) for name in data.columns}
        mode = os.stat(path).st_mode if source != "-" else 0o600
    there = [k for k, value in enumerate(table[column]) if value is not None]
    numbers = [_number(table[column][k], column) for k in there]
    ids = None if id_column is None else [table[id_column][k] for k in there]
    rounded = grid.round(
        numbers, clip=clip, key=key, ids=ids, column=column if key else None, occasion=occasion
    )
    for k, point in zip(there, rounded, strict=True):
        table[column][k] = point
    records = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    content = encode_table(records, table_kind(output))
    with new_file(output, overwrite, mode) as file:  # no more readable than the numbers
        file.write(content)
    out = show.console()
    out.print(
        f"{len(there)} numbers rounded to {len(grid.points)} points in {output}, "
        f"{len(records) - len(there)} missing",
        soft_wrap=True,
    )
    warnings = [f"{output} holds true answers, rounded: keep it as secret as the numbers."]
    if key is None:
        warnings.append(
            "Another run gives other points. If you privatize with a key, round with it, too: --key-file, --id-column."
        )
    show.warnings(out, warnings)


def _grid(text: str) -> ex.numeric.Grid:
    try:
        return ex.numeric.Grid([float(part) for part in text.split(",")])
    except ValueError:  # an OptionError is one
        raise OptionError(
            "--points must be at least 2 increasing numbers like 0,500,1000", given=f"{text!r:.60}"
        ) from None


def _number(value: Any, column: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValuesError(
            f"every value of {column} must be a number or missing",
            given=f"{value!r:.40}",
            remedy="correct it",
        ) from None
