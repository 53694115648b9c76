"""Every command with a saved result in the place of a file: the same numbers, or one sentence."""
import json

import pytest

from reid_ref import cli
from reid_ref.cli.parser import COMMANDS
from tests.commands.common import MARKET

#: What a command says that needs more than a saved result has.
NO_ARRAYS = "expected a file of arrays, got a .json file, such as a saved result, which has no "
#: Words of a command, FILE and FILE2 being saved results, and what it says where it refuses them.
WORDS = {
    **dict.fromkeys((
        "evaluate FILE", "evaluate FILE --json --cmc all --confidence",
        "evaluate FILE --format csv --ranks 1,3", "evaluate FILE --format latex",
        "evaluate FILE --format markdown --confidence",
        "evaluate FILE --at 1,5 --by identity --by camera",
        "evaluate FILE --baseline FILE --expect mAP=40.16 --fail-under mAP=40",
        "evaluate FILE --worst 3", "evaluate FILE FILE2 --json",
        "compare FILE FILE2 --metric mAP,Rank-7,P@5 --json", "runs FILE FILE2 --metric R@5,mINP",
        "splits FILE FILE2 --format csv", "plot cmc FILE -o OUT.svg",
        "plot pr FILE FILE2 -o OUT.svg", "plot ap FILE -o OUT.svg", "verify FILE",
        "report FILE -o OUT.html", "report FILE FILE2 --name a,b -o OUT.html"), ""),
    **dict.fromkeys((
        "plot conventions FILE -o OUT.svg", "plot cameras FILE -o OUT.svg",
        "plot distances FILE -o OUT.svg", "plot rank-lists FILE -o OUT.svg", "camera-pairs FILE",
        "explain FILE", "validate FILE --published 45/40",
        "crosscheck FILE --evaluator scikit-learn", "export FILE --to trec --output OUT",
        "dataset FILE", "baseline FILE --driver market1501", "doctor FILE", "rerank FILE",
        "ties FILE", "scripts FILE --only port"), NO_ARRAYS),
    **{words: f"{words.split()[-2]}: expected features or distances, g" for words in (
        "evaluate FILE --ties reversed", "evaluate FILE --metric dot",
        "evaluate FILE --convention mars", "evaluate FILE FILE2 --set ap=step",
        "compare FILE FILE2 --convention mars", "plot cmc FILE -o OUT.svg --set ap=step",
        "report FILE -o OUT.html --metric dot", "report FILE -o OUT.html --convention mars",
        "report FILE -o OUT.html --images .")},
    "evaluate FILE --strict": "--strict: expected features or distances, got a saved",
    "evaluate FILE --no-normalize": "--no-normalize: expected features",
    "report FILE -o OUT.html --no-normalize": "--no-normalize: expected features"}
#: Commands that take no result file; `check-table` reads rows of Markdown in any text.
OF_OTHER_FILES = {"conventions", "published", "oxford", "check-table", "completion"}


def run(words, capsys):
    status = cli.main(words)
    out, err = capsys.readouterr()
    return status, out, [line for line in err.splitlines() if "warning: " not in line]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of two saved results, one named as its file is."""
    folder = tmp_path_factory.mktemp("saved")
    for name, extra in (("market_like.json", []), ("raw.json", ["--no-normalize"])):
        cli.main(["evaluate", MARKET, "--save", str(folder / name), "--quiet", *extra])
    return folder


def test_every_command_is_here():
    with_files = {words.split()[0] for words in WORDS}
    assert with_files | OF_OTHER_FILES == set(COMMANDS) and not OF_OTHER_FILES & with_files


@pytest.mark.parametrize(("words", "sentence"), WORDS.items(), ids=lambda one: one[:40])
def test_a_saved_result_in_the_place_of_a_file(words, sentence, saved, tmp_path, capsys):
    names = {"FILE": str(saved / "market_like.json"), "FILE2": str(saved / "raw.json")}
    given = [names.get(word, word.replace("OUT", str(tmp_path / "out"))) for word in words.split()]
    status, out, told = run(given, capsys)
    if sentence:
        assert status == 2 and out == "" and len(told) == 1 and sentence in told[0], told
        assert list(tmp_path.iterdir()) == []
    else:
        assert (status, told) == (0, []) and out


@pytest.mark.parametrize("words", [
    "evaluate FILE --format csv", "evaluate FILE --format latex --ranks 1,3",
    "evaluate FILE --at 1,5 --by identity --by camera --confidence --json --cmc all",
    "compare FILE FILE --metric P@5,R@10,mINP --json", "runs FILE FILE --format markdown",
    "plot cmc FILE -o OUT.svg", "plot pr FILE -o OUT.svg", "plot ap FILE -o OUT.svg"])
def test_it_gives_what_the_file_gives(words, saved, tmp_path, capsys):
    """To the last digit, but for the names of files and layouts."""
    answers = []
    for file in (MARKET, saved / "market_like.json"):
        given = [{"FILE": str(file), "OUT.svg": str(tmp_path / "out.svg")}.get(word, word)
                 for word in words.split()]
        status, out, _ = run(given, capsys)
        if "--json" in given:
            out = {key: value for key, value in json.loads(out).items()
                   if key not in ("files", "layout", "dataset", "warnings", "name")}
        answers.append((status, out, [path.read_bytes() for path in tmp_path.iterdir()]))
    assert answers[0] == answers[1] and answers[0][0] == 0


def test_the_worst_queries_have_no_wrong_image(saved, capsys):
    fresh, kept = (json.loads(run(["evaluate", str(file), "--worst", "9", "--json"], capsys)[1])
                   for file in (MARKET, saved / "market_like.json"))
    assert [{**one, "nearest_wrong": None} for one in fresh["worst"]] == kept["worst"]


def test_a_saved_result_beside_a_file_and_a_table(saved, tmp_path, capsys):
    table = str(tmp_path / "table.json")
    assert run(["evaluate", MARKET, "--per-query", table, "--quiet"], capsys)[0] == 0
    ours = str(saved / "market_like.json")
    assert run(["evaluate", table], capsys)[2][0].startswith(
        f"reid-ref: error: {table}: schema: expected 2, ")
    status, out, told = run(["compare", ours, table, str(MARKET)], capsys)
    assert (status, told) == (0, []) and out.count("identical per-query values") == 4
    assert run(["evaluate", str(MARKET), "--baseline", ours], capsys)[0] == 0
    assert run(["evaluate", ours, str(MARKET), "--set", "ap=step", "--json"], capsys)[0] == 0
    csv = str(tmp_path / "again.csv")
    again = ["--save", str(tmp_path / "again.json"), "--per-query", csv]
    assert run(["evaluate", ours, *again], capsys)[0] == 0
    assert (tmp_path / "again.json").read_text() == (saved / "market_like.json").read_text()
    run(["evaluate", str(MARKET), "--per-query", str(tmp_path / "fresh.csv")], capsys)
    assert (tmp_path / "fresh.csv").read_text() == (tmp_path / "again.csv").read_text()


def test_a_result_is_not_saved_over_itself(saved, capsys):
    path = str(saved / "raw.json")
    status, out, told = run(["evaluate", path, "--save", path], capsys)
    assert status == 2 and out == "" and "expected a file to write, got " in told[0], told
