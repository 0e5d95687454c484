"""The transformer for scikit-learn: a well-behaved estimator, and one report for each person, however often it runs."""

import hashlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import extremal as ex
from tests.support.lazy import Lazy
from tests.support.wording import refused

base, compose, linear_model = Lazy("sklearn.base"), Lazy("sklearn.compose"), Lazy("sklearn.linear_model")
model_selection, pipeline = Lazy("sklearn.model_selection"), Lazy("sklearn.pipeline")
preprocessing, estimator_checks = Lazy("sklearn.preprocessing"), Lazy("sklearn.utils.estimator_checks")
ours = Lazy("extremal.sklearn")

ANSWERS = ["never", "once", "often"]


@pytest.fixture(scope="module", autouse=True)
def installed():
    pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def certified():
    return ex.certify(ex.design(ex.Prior(dict(zip(ANSWERS, (0.5, 0.3, 0.2), strict=True))), 0.6))


@pytest.fixture(scope="module")
def key_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("key") / "secret.key"
    ex.keys.write(path)
    return path


@pytest.fixture(scope="module")
def people():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    return pandas.DataFrame(
        {
            "person": rng.permutation(200),
            "visits": rng.choice(ANSWERS, 200),
            "age": rng.integers(18, 80, 200),
        }
    )


def row_ids(X):
    """Checks of scikit-learn bring no ids: a row is its own."""
    return [hashlib.sha256(repr(row.tolist()).encode()).digest() for row in np.asarray(X)]


def question_names(X):
    """Checks of scikit-learn bring no questions, and any number of columns."""
    return [f"question {j}" for j in range(np.asarray(X).shape[1])]


def test_scikit_learn_finds_nothing_wrong_and_no_check_is_excused(key_file):
    numbers = ex.certify(ex.design(ex.Prior({0: 0.5, 1: 0.3, 2: 0.2}), 0.6))
    estimator = ours.Privatizer(
        numbers, keyed=ex.Keyed(key_file, row_ids), columns=question_names, unknown_as=0
    )
    results = estimator_checks.check_estimator(estimator, on_fail=None, on_skip=None)
    wrong = [result["check_name"] for result in results if result["status"] not in ("passed", "skipped")]
    assert wrong == []
    assert len(results) > 30


def test_reports_are_those_of_privatize_and_other_columns_stay(certified, key_file, people):
    found = ours.Privatizer({"visits": certified}, keyed=ex.Keyed(key_file, "person")).fit_transform(people)
    key = ex.keys.read(key_file)
    expected = ex.privatize(people, {"visits": certified}, keyed=ex.Keyed(key, "person"))
    assert list(found.columns) == ["visits", "age"]
    assert found.equals(expected[["visits", "age"]])


def test_a_person_gets_one_report_however_often_and_among_whomever(certified, key_file, people):
    privatizer = ours.Privatizer({"visits": certified}, keyed=ex.Keyed(key_file, "person"))
    once = privatizer.fit_transform(people)["visits"]
    assert once.equals(privatizer.transform(people)["visits"])
    for train, _ in model_selection.KFold(5, shuffle=True, random_state=0).split(people):
        assert base.clone(privatizer).fit_transform(people.iloc[train])["visits"].equals(once.iloc[train])
    wave = base.clone(privatizer).set_params(keyed=ex.Keyed(key_file, "person", "spring"))
    assert not once.equals(wave.fit_transform(people)["visits"])


def test_fitting_learns_nothing_from_the_values(certified, key_file, people):
    """What is kept, and what is drawn later, is the same whatever stood in the columns: also what is no answer."""
    others = people.assign(visits="unknown", person=people["person"] + 1000, age=0)
    learned = []
    for fitted_to in (people, others):
        privatizer = ours.Privatizer({"visits": certified}, keyed=ex.Keyed(key_file, "person")).fit(fitted_to)
        kept = {name: str(value) for name, value in vars(privatizer).items() if name.endswith("_")}
        learned.append((kept, privatizer.transform(people)["visits"].tolist()))
    assert learned[0] == learned[1]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_frames_give_the_same_reports(certified, key_file, people, library):
    pytest.importorskip(library)
    narwhals = pytest.importorskip("narwhals")
    frame = narwhals.from_dict({name: people[name].tolist() for name in people}, backend=library).to_native()
    privatizer = ours.Privatizer({"visits": certified}, keyed=ex.Keyed(key_file, "person"))
    found = narwhals.from_native(privatizer.fit_transform(frame))
    assert found.columns == ["visits", "age"]
    assert found["visits"].to_list() == privatizer.fit_transform(people)["visits"].tolist()


NAMES = ["person", "visits", "age"]


def test_arrays_have_the_names_that_the_caller_gives_and_ids_are_left_out(certified, key_file, people):
    array = people.to_numpy(dtype=object)
    privatizer = ours.Privatizer(
        {"visits": certified}, keyed=ex.Keyed(key_file, "person"), columns=NAMES
    ).fit(array)
    found = privatizer.transform(array)
    of_frame = ours.Privatizer({"visits": certified}, keyed=ex.Keyed(key_file, "person")).fit_transform(
        people
    )
    assert found.tolist() == of_frame.to_numpy(dtype=object).tolist()
    assert privatizer.get_feature_names_out().tolist() == ["visits", "age"]
    assert privatizer.get_feature_names_out(["x0", "x1", "x2"]).tolist() == ["visits", "age"]
    shown = privatizer.set_output(transform="pandas").transform(array)
    assert list(shown.columns) == ["visits", "age"]
    again = pickle.loads(pickle.dumps(base.clone(privatizer).fit(array)))
    assert again.transform(array)["visits"].tolist() == of_frame["visits"].tolist()
    assert (
        ours.Privatizer({"visits": certified}, keyed=ex.Keyed(key_file, "person"), columns=lambda X: NAMES)
        .fit_transform(array)
        .tolist()
        == found.tolist()
    )


def test_columns_that_nobody_named_are_refused(certified, key_file, people):
    """The positions of two arrays, and what libraries make of them, name no question."""
    pandas = pytest.importorskip("pandas")
    array = people.to_numpy(dtype=object)
    for key in (1, "x1", "visits"):
        with refused(ex.errors.KeyingError, "columns", "array"):
            ours.Privatizer({key: certified}, keyed=ex.Keyed(key_file, 0)).fit(array)
    for names in (["x0", "x1", "x2"], [0, 1, 2], ["Unnamed: 0", "column_1", "age"]):
        invented = pandas.DataFrame(array, columns=names)
        with refused(ex.errors.KeyingError, "name"):
            ours.Privatizer({names[1]: certified}, keyed=ex.Keyed(key_file, names[0])).fit(invented)
    wrong = [NAMES[:2], ["person", "visits", "visits"], "abc", ["person", "visits", ""], [0, 1, 2]]
    for columns in wrong:
        with pytest.raises(ex.errors.KeyingError, match="name"):
            ours.Privatizer({"visits": certified}, keyed=ex.Keyed(key_file, "person"), columns=columns).fit(
                array
            )
    with refused(ex.errors.KeyingError, "columns"):
        ours.Privatizer({"b": certified}, keyed=ex.Keyed(key_file, "a"), columns=["a", "b", "c"]).fit(people)
    fitted = ours.Privatizer({"visits": certified}, keyed=ex.Keyed(key_file, "person"), columns=NAMES).fit(
        array
    )
    with refused(ex.errors.ValuesError, "columns"):
        fitted.set_params(columns=["person", "age", "visits"]).transform(array)


def test_column_transformers_on_positions_draw_each_question_by_itself(certified, key_file):
    """Columns [0, 1] and [0, 2] of one array, after an imputer: different answers never share noise."""
    impute = pytest.importorskip("sklearn.impute")
    rng = np.random.default_rng(8)
    numbers = ex.certify(ex.design(ex.Prior({0: 0.5, 1: 0.3, 2: 0.2}), 0.6))
    array = np.column_stack([np.arange(3000), rng.integers(0, 3, (3000, 2))]).astype(object)

    def privatizer(*columns):
        return ours.Privatizer({columns[1]: numbers}, keyed=ex.Keyed(key_file, "id"), columns=list(columns))

    both = compose.ColumnTransformer(
        [("a", privatizer("id", "smokes"), [0, 1]), ("b", privatizer("id", "drinks"), [0, 2])]
    )
    reports = pipeline.make_pipeline(impute.SimpleImputer(strategy="most_frequent"), both).fit_transform(
        array
    )
    ids, key = array[:, 0].astype(int), ex.keys.read(key_file)
    for k, name in enumerate(["smokes", "drinks"]):
        alone = numbers.privatize(array[:, k + 1], keyed=ex.Keyed(key, ids), column=name)
        assert reports[:, k].tolist() == alone.tolist()
    framed = pipeline.make_pipeline(
        impute.SimpleImputer(strategy="most_frequent").set_output(transform="pandas"),
        compose.ColumnTransformer(
            [("a", ours.Privatizer(numbers, keyed=ex.Keyed(key_file, "x0")), ["x0", "x1"])]
        ),
    )
    with refused(ex.errors.KeyingError, "the column"):
        framed.fit_transform(array)


def test_a_pipeline_is_cross_validated_on_reports(certified, key_file, people):
    private = ours.Privatizer({"visits": certified}, keyed=ex.Keyed(key_file, "person"))
    encode = compose.ColumnTransformer(
        [("reports", preprocessing.OneHotEncoder(), ["visits"])], remainder="passthrough"
    )
    model = pipeline.make_pipeline(private, encode, linear_model.LogisticRegression(max_iter=1000))
    assert len(model_selection.cross_val_score(model, people, people["age"] > 50, cv=3)) == 3


def test_the_key_is_in_no_parameter_no_text_and_no_pickle(certified, key_file, people):
    privatizer = ours.Privatizer({"visits": certified}, keyed=ex.Keyed(key_file, "person")).fit(people)
    privatizer.transform(people)
    key = ex.keys.read(key_file)
    stored = pickle.dumps(privatizer)
    assert key not in stored
    assert key.hex().encode() not in stored
    assert key.hex() not in repr(privatizer) + str(privatizer.get_params()) + str(vars(privatizer))
    assert pickle.loads(stored).transform(people).equals(privatizer.transform(people))


def test_what_is_missing_is_named(certified, key_file, people):
    good = {"mechanisms": {"visits": certified}, "keyed": ex.Keyed(key_file, "person")}
    cases = [
        ({"mechanisms": None}, ex.errors.OptionError, "mechanisms"),
        ({"keyed": None}, ex.errors.KeyingError, "keyed="),
        ({"keyed": "secret.key"}, ex.errors.KeyingError, "keyed"),
        ({"keyed": ex.Keyed(bytes(range(32)), "person")}, ex.errors.KeyingError, "key"),
        ({"keyed": ex.Keyed(key_file, "persn")}, ex.errors.ValuesError, "'persn'"),
        ({"mechanisms": {"visit": certified}}, ex.errors.ValuesError, "'visit'"),
    ]
    for change, error, words in cases:
        with refused(error, words):
            ours.Privatizer(**good | change).fit(people)


def test_people_who_occur_twice_and_unknown_answers_are_refused(certified, key_file, people):
    privatizer = ours.Privatizer({"visits": certified}, keyed=ex.Keyed(key_file, "person")).fit(people)
    twice = people.assign(person=[1, 1, *range(2, 200)])
    with pytest.raises(ex.errors.KeyingError):
        privatizer.transform(twice)
    unknown = people.assign(visits=["daily", *people["visits"][1:]])
    with pytest.raises(ex.errors.ValuesError):
        privatizer.transform(unknown)
    instead = base.clone(privatizer).set_params(unknown_as={"visits": "often"}).fit(people)
    corrected = people.assign(visits=["often", *people["visits"][1:]])
    assert instead.transform(unknown).equals(privatizer.transform(corrected))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_an_array_is_not_taken_for_a_frame(certified, key_file):
    """The columns 1 and 0 of a frame are the positions 0 and 1 of its array: answers would pass as they are."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"b": ANSWERS, "a": [7, 8, 9]})
    how = {"mechanisms": {"b": certified}, "keyed": ex.Keyed(key_file, "a"), "columns": ["b", "a"]}
    fitted = ours.Privatizer(**how).fit(frame)
    with refused(ex.errors.ValuesError, "X", "array"):
        fitted.transform(frame.to_numpy())
    with refused(ex.errors.ValuesError, "unknown_as"):
        ours.Privatizer(**how, unknown_as={"c": "once"}).fit_transform(frame.to_numpy())


def test_without_scikit_learn_the_error_says_what_to_install():
    program = "import sys; sys.modules['sklearn'] = None; import extremal.sklearn"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert 'run pip install ".[sklearn]" in the project\'s folder' in done.stderr
