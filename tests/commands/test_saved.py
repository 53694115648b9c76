"""Every command with a saved result in the place of a file: the same numbers, or one sentence."""
import json

import pytest

from reid_ref.cli.parser import COMMANDS
from tests.commands.common import MARKET, answer, assert_one_line_error, command, table

#: A noun of the refusal by a command that needs more than a saved result has.
NO_ARRAYS = "a file of arrays"
#: Words of a command, FILE and FILE2 being saved results, and words of its refusal, if any.
WORDS = {
    **dict.fromkeys((
        "evaluate FILE", "evaluate FILE --json --cmc all --confidence",
        "evaluate FILE --format csv --ranks 1,3", "evaluate FILE --format latex",
        "evaluate FILE --format markdown --confidence",
        "evaluate FILE --at 1,5 --by identity --by camera",
        "evaluate FILE --baseline FILE --expect mAP=40.16 --fail-under mAP=40",
        "evaluate FILE --worst 3", "evaluate FILE FILE2 --json",
        "compare FILE FILE2 --measure mAP,Rank-7,P@5 --json",
        "evaluate FILE FILE2 --mean runs --measure R@5,mINP",
        "evaluate FILE FILE2 --mean splits --format csv", "compare FILE FILE2 --format latex",
        "plot cmc FILE -o OUT.svg",
        "plot pr FILE FILE2 -o OUT.svg", "plot ap FILE -o OUT.svg",
        "report FILE -o OUT.html", "report FILE FILE2 --name a,b -o OUT.html"), ""),
    **dict.fromkeys((
        "explain FILE", "validate FILE --published 45/40",
        "crosscheck FILE --evaluator fastreid",
        "scripts FILE --driver market1501", "doctor FILE", "rerank FILE",
        "ties FILE", "thresholds FILE", "scripts FILE --only port"), NO_ARRAYS),
    **{f"plot {figure} FILE -o OUT.svg": f"plot {figure}: .*features or distances"
       for figure in ("cameras", "distances", "rank-lists")},
    "plot conventions FILE FILE2 -o OUT.svg": "raw: .*a convention of its own, got matlab",
    **{words: f"{words.split()[-2]}: .*features or distances" for words in (
        "evaluate FILE --metric dot",
        "evaluate FILE --convention mars", "evaluate FILE FILE2 --set ap=step",
        "compare FILE FILE2 --convention mars", "plot cmc FILE -o OUT.svg --set ap=step",
        "report FILE -o OUT.html --metric dot", "report FILE -o OUT.html --convention mars",
        "report FILE -o OUT.html --images .")},
    "evaluate FILE --by camera-pair": "--by camera-pair: .*features or distances",
    "evaluate FILE --save OUT.run": "--save: .*features or distances",
    "evaluate FILE --strict": "--strict: .*features or distances",
    "evaluate FILE --no-normalize": "--no-normalize: .*features",
    "report FILE -o OUT.html --no-normalize": "--no-normalize: .*features",
    "compare FILE FILE2 --no-normalize": "--no-normalize: .*features",
    "plot cmc FILE -o OUT.svg --metric dot --no-normalize": "--metric, --no-normalize: .*features"}
#: Commands that take no result file; `check-table` reads rows of Markdown in any text.
OF_OTHER_FILES = {"conventions", "protocols", "oxford", "check-table"}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of two saved results, one named as its file is."""
    folder = tmp_path_factory.mktemp("saved")
    for name, extra in (("market_like.json", []), ("raw.json", ["--no-normalize"])):
        table("evaluate", MARKET, "--save", folder / name, "--quiet", *extra)
    return folder


def test_every_command_is_here():
    with_files = {words.split()[0] for words in WORDS}
    assert with_files | OF_OTHER_FILES == set(COMMANDS) and not OF_OTHER_FILES & with_files


@pytest.mark.parametrize(("words", "sentence"), WORDS.items(), ids=lambda one: one[:40])
def test_a_saved_result_in_the_place_of_a_file(words, sentence, saved, tmp_path):
    names = {"FILE": str(saved / "market_like.json"), "FILE2": str(saved / "raw.json")}
    given = [names.get(word, word.replace("OUT", str(tmp_path / "out"))) for word in words.split()]
    if sentence:
        assert_one_line_error(command(*given), sentence)
        assert list(tmp_path.iterdir()) == []
    else:
        assert table(*given)


@pytest.mark.parametrize("words", [
    "evaluate FILE --format csv", "evaluate FILE --format latex --ranks 1,3",
    "evaluate FILE --at 1,5 --by identity --by camera --confidence --json --cmc all",
    "compare FILE FILE --measure P@5,R@10,mINP --json",
    "evaluate FILE FILE2 --mean runs --format csv",
    "plot cmc FILE -o OUT.svg", "plot pr FILE -o OUT.svg", "plot ap FILE -o OUT.svg"])
def test_it_gives_what_the_file_gives(words, saved, tmp_path):
    """To the last digit, but for the names of files and layouts."""
    answers = []
    for file in (MARKET, saved / "market_like.json"):
        given = [{"FILE": str(file), "FILE2": str(saved / "raw.json"),
                  "OUT.svg": str(tmp_path / "out.svg")}.get(word, word)
                 for word in words.split()]
        out = table(*given)
        if "--json" in given:
            out = {key: value for key, value in json.loads(out).items()
                   if key not in ("files", "layout", "dataset", "warnings", "name")}
        answers.append((out, [path.read_bytes() for path in tmp_path.iterdir()]))
    assert answers[0] == answers[1]


def test_the_worst_queries_have_no_wrong_image(saved):
    fresh, kept = (answer("evaluate", file, "--worst", "9")
                   for file in (MARKET, saved / "market_like.json"))
    assert [{**one, "nearest_wrong": None} for one in fresh["worst"]] == kept["worst"]


def test_a_saved_result_beside_a_file_and_a_table(saved, tmp_path):
    per_query, ours = tmp_path / "table.json", saved / "market_like.json"
    table("evaluate", MARKET, "--per-query", per_query, "--quiet")
    table("evaluate", MARKET, "--per-query", tmp_path / "table.csv", "--quiet")
    for words in (["evaluate", per_query], ["compare", ours, per_query],
                  ["evaluate", tmp_path / "table.csv"], ["compare", ours, tmp_path / "table.csv"],
                  ["evaluate", MARKET, "--baseline", per_query]):
        assert_one_line_error(command(*words), "--save keeps what commands need")
    assert table("compare", ours, ours, MARKET).count("identical per-query values") == 4
    table("evaluate", MARKET, "--baseline", ours)
    table("evaluate", ours, MARKET, "--set", "ap=step", "--json")
    again, csv, fresh = (tmp_path / name for name in ("again.json", "again.csv", "fresh.csv"))
    table("evaluate", ours, "--save", again, "--per-query", csv)
    assert again.read_text() == ours.read_text()
    table("evaluate", MARKET, "--per-query", fresh)
    assert fresh.read_text() == csv.read_text()


def test_nothing_is_saved_where_the_command_ends_with_an_error(tmp_path):
    (tmp_path / "kept.json").write_text("kept")
    done = command("evaluate", MARKET, "--confidence", "--resamples", "3", "--save", "kept.json",
                   cwd=tmp_path)
    assert done.returncode == 2 and (tmp_path / "kept.json").read_text() == "kept"


def test_a_result_is_not_saved_over_itself(saved):
    path = saved / "raw.json"
    assert_one_line_error(command("evaluate", path, "--save", path), "a file to write")
