"""Wrong use of each command ends in one line that names the argument, and writes no file."""
import shlex

import pytest

from tests.commands.common import MARKET, MARS, TIES, assert_one_line_error, command
from tests.documents import ROOT

GATE = "evaluate MARKET --expect "
TWICE = ".*mAP once"
NO_NAMES = "--name: .*a name of its own for each of "
NO_RANKS = "--ranks: .*whole numbers"
NO_NUMBERS = "--at: .*whole numbers .*'{}'"
BENCHMARK = "validate --published 81.1/67.6 "
#: Words of a command and a pattern of its error, in which names in capitals are fixtures.
REFUSED = {
    # What is no command, option or choice.
    "evalute": "COMMAND: unknown 'evalute', did you mean evaluate\\?; see reid-ref --help$",
    "evaluate MARKET --protcol mars": "unrecognized arguments: --protcol mars, did you mean "
                                      "--protocol\\?; see reid-ref evaluate --help$",
    "rank-list MARKET": "COMMAND: .*did you mean plot rank-lists\\?",
    "score MARKET": "COMMAND: .*did you mean evaluate\\?",
    "test MARKET": "COMMAND: .*did you mean crosscheck\\?",
    "gate MARKET": "COMMAND: .*did you mean evaluate --baseline FILE, or --fail-under\\?",
    "check MARKET": "COMMAND: .*did you mean check-table, crosscheck or validate\\?",
    "MARKET": "COMMAND: unknown '.*market_like.mat', a file: write reid-ref evaluate ",
    "evaluate MARKET --set metric=cosine": "--set: unknown 'metric'. Did you mean '--metric'",
    "crosscheck MARKET": "required: --evaluator, such as --evaluator my_eval.py:evaluate",
    "validate MARKET --map x=y": "for a page: reid-ref check-table paper.md$",
    "evaluate": "the following arguments are required: FILE; see reid-ref evaluate --help$",
    "evaluate MARKET --bogus": "; see reid-ref evaluate --help$",
    "evaluate MARKET --format x": "; see reid-ref evaluate --help$",
    "evaluate MARKET --set ties=gallery": (
        "--set ties: unknown 'gallery'. Did you mean 'gallery-order'"),
    "conventions torchried": "NAME: .*'torchried'.*Did you mean 'torchreid'",
    "evaluate MARKET --shots 0": "--shots: .*--protocol",
    **{f"evaluate MARKET {words}": "argument --.*: .*two" for words in (
        "--json --format csv", "--format csv --json", "--normalize --no-normalize",
        "--metric euclidean --metr=cosine", "--baseline a.json --baseline b.json")},
    **{f"evaluate MARKET --convention {name}": f"not a convention; --protocol {protocol} evaluates"
       for name, protocol in (
           ("sysu", "sysu-mm01"), ("regdb", "regdb"), ("VehicleID", "vehicleid"),
           ("MSMT17_V2", "msmt17"), ("prw", "prw"), ("Market1501", "market1501"))},
    "evaluate MARKET --convention sysu-mn01": "--convention: .*Did you mean 'sysu-mm01'[?]",
    "evaluate MARS TIES --metric dot":
        "error: mars_like: --metric, --normalize, --no-normalize: .*features",
    "evaluate MARKET --save no/x.run": "no/x.qrels: .*folder",
    "evaluate MARKET --save .run": "--save: .*ends in .json, .json.gz or .run",
    "evaluate MARKET --protocol market1501 --save x.run": "--save: .*--protocol market1501",
    "evaluate MARKET --protocol market1501 --by camera-pair": "--by camera-pair: .*--protocol m",
    "evaluate MARKET --numbers-from 0": "--numbers-from: .*--labels",
    "evaluate MARKET --convention matlab,all": "--convention: .*all, or names",
    "evaluate MARKET --convention matlab,mars --per-query x.csv": "--per-query: .*one convention",
    "evaluate MARKET --convention all --by camera": "--by: .*one convention",
    "evaluate MARKET --convention veri": "--index-lists: .*'veri' .*the files of both",
    "evaluate MARKET --convention veri --index-lists g.txt j.txt": "g.txt: .*No such file",
    "thresholds MARKET --far 2": "--far: .*rates .*2.0",
    "thresholds MARKET --far a": "--far: .*rates .*'a'",
    "thresholds MARKET --confidence --unit query": "--unit: .*identity",
    "thresholds MARKET --convention matlab,mars": "--convention: .*matlab, m",
    "thresholds MARKET --level 90": "--level: .*--confidence",
    "ties MARKET --convention open-reid": "--convention: .*AP by trapezoid or step",
    "ties MARKET --convention matlab,mars": "--convention: .*matlab, m",
    "evaluate MARKET --set ap=stp": "--set ap: .*'stp'.*Did you mean 'step'",
    "evaluate MARKET --set ap": "--set: .*KEY=VALUE",
    "evaluate MARKET --set top_k=0": "--set, convention matlab: top_k: .*whole number",
    "evaluate MARKET --set ap=sklearn-0.18,arithmetic=float32":
        "--set, convention matlab: ap in float32: unknown 'sklearn-0.18'; known: trapezoid, step",
    "validate MARKET --published 80/60 --set ap=step": "--set: .*--convention NAME",
    # Numbers.
    "evaluate MARKET --ranks=0": NO_RANKS, "evaluate MARKET --ranks=x": NO_RANKS,
    "evaluate MARKET --ranks=1,1": NO_RANKS, "evaluate MARKET --ranks=\u0661": NO_RANKS,
    "evaluate MARKET --ranks=" + "9" * 5000: NO_RANKS,
    "evaluate MARKET --at 0": NO_NUMBERS.format(0),
    "evaluate MARKET --at \u00b2": "--at: .*whole numbers",
    "evaluate MARKET --worst 0": "--worst: .*whole number",
    "doctor MARKET --seed -3": "--seed: .*whole number",
    "evaluate MARKET --confidence --level 100": "--level: .*percent",
    "evaluate MARKET --confidence --resamples 10": "--resamples: .*at least 39",
    "evaluate MARKET --confidence --resamples 1000000000000": "--resamples: .*1 to 1000000,",
    # Several files.
    "report MARKET nowhere.mat -o x.html": "nowhere.mat: No such file",
    "evaluate MARKET MARKET": "market_like.mat: .*different files",
    "evaluate MARKET MARS --per-query x.csv": "--per-query: .*one result",
    "evaluate MARKET --name ours --save x.json": "--save: .*1 result and --name",
    "evaluate absent.mat --per-query x.xlsx": "--per-query: .*x.xlsx",
    "evaluate MARKET --save x.txt": "--save: .*ends in .json",
    "evaluate MARKET --save x.json --convention all": "--save: .*one convention",
    "evaluate MARKET --save missing/x.json": "missing/x.json: .*folder",
    "evaluate MARKET --save x.json --per-query x.json": "x.json: .*different files",
    "evaluate MARKET MARS --name ours": NO_NAMES + "2 results",
    "evaluate MARKET MARS --name a,a": NO_NAMES + "2",
    "evaluate MARKET --name ''": NO_NAMES + "1 results",
    "evaluate MARKET MARS --convention veri": "market_like: --index-lists: .*'veri'",
    # Gates.
    GATE + "76.12": "--expect: .*NAME=PERCENT",
    GATE + "R-Prec@5=3": "--expect: .*NAME=PERCENT",
    GATE + "top1=76.12": "--expect: .*'top1=76.12'", GATE + "Rank-0=3": "--expect: .*'Rank-0=3'",
    GATE + "mAP=3,mAP=4": "--expect: " + TWICE,
    GATE + "mAP=0.7612": "--expect mAP: .*fraction",
    GATE + "Rank-346=3": "--expect: .*rank up to 345",
    GATE + "mAP=3 --tolerance -1": "--tolerance: .*percentage points .*'-1'",
    GATE + "mAP=3 --tolerance 999": "--tolerance: .*percentage points .*'999'",
    GATE + "mAP=3 --convention matlab,mars": "--expect: .*one convention",
    "evaluate MARKET --tolerance 1": "--tolerance: .*--expect",
    "evaluate MARKET --fail-under mAP=3 --fail-under mAP=4": "--fail-under: " + TWICE,
    "evaluate MARKET --fail-under mAP=x": "--fail-under mAP: .*percent",
    "evaluate MARKET MARS --fail-under mAP=3": "--fail-under: .*one result",
    # Scripts.
    "scripts MARKET --convention torchreid --only octave": "'torchreid' follows no MATLAB script",
    "scripts MARKET --only octave --matlab-dir .": "--matlab-dir: .*evaluation.m",
    "scripts MARKET --only port --matlab-dir .": "--matlab-dir: .*--only port",
    # From one convention to another.
    "explain MARKET --to torchried": "--to: .*'torchried'.* Did you mean 'torchreid'",
    "explain MARKET --query 48": "--query: .*number from 0 to 47",
    "explain MARKET --to veri": "takes the good and junk images of every query",
    # Re-ranking.
    "rerank MARKET --k1 400": "k1: .*whole number from 1 to 392",
    "rerank MARKET --lambda 2": "--lambda: .*number from 0 to 1",
    "rerank MARKET --variant layumi --multi-query x.mat": "--variant: .*--multi-query",
    "rerank MARKET --convention all": "--convention: .*all; name one",
    "rerank MARKET --multi-query absent.mat": "absent.mat: No such file",
    "rerank TIES": "ties.mat: .*features",
    # A published figure.
    "validate MARKET": "--published, --paper: .*none",
    "validate MARKET --published 1/2 --paper x": "--published, --paper: .*both",
    "validate MARKET --published abc": "--published: .*RANK1/mAP",
    "validate MARKET --paper mars/rnn": "KEY: unknown 'mars/rnn'; nearest: mars/rnn-resnet50",
    "validate MARKET --published 45.8/ --convention veri": "--convention: .*'veri' needs",
    "validate MARKET --published 80/60 --max-memory much": "--max-memory: .*size",
    BENCHMARK: "FILE, --dataset: .*none",
    BENCHMARK + "MARKET --dataset mars": "FILE, --dataset: .*both",
    BENCHMARK + "--dataset markt1501": (
        "--dataset: unknown 'markt1501'. Did you mean 'market1501'[?] Known: "),
    BENCHMARK + "--dataset mars --convention matlab":
        "--convention: .*result file",
    "validate --dataset mars --paper market1501/bagtricks-resnet50":
        "--paper: .*MARS.*market1501/bagtricks-resnet50, over 3,368",
    "validate --dataset market1501 --paper sysu-mm01/agw-all": "--paper: .*over SYSU-MM01",
    # The same benchmark, but without the queries in the gallery.
    "validate --dataset mars --paper mars/rnn-resnet50": "--paper: .*over 1,840 of MARS",
    # Published figures, and tables of them.
    "published": "COMMAND: .*did you mean validate\\?",
    "validate --dataset x": "--dataset: unknown 'x'; known: ",
    "validate --dataset mars --convention matlab": "--convention.*: .*result file",
    "validate --paper mars/rnn-resnet50 --max-memory 1G": "--max-memory.*: .*result file",
    "validate --paper mars/x": "KEY: unknown 'mars/x'",
    "check-table missing.md": "missing.md: .*No such file.*Markdown",
    "check-table MARKET": "market_like.mat: .*not text.*Markdown",
    "check-table README --dataset markt": (
        "--dataset: unknown 'markt'. Did you mean 'mars'[?] Known: .*market1501"),
    "check-table README --columns Rank-1,accuracy": "--columns: measure: .*got 'accuracy'",
    "check-table README --queries 0": "--queries: expected a whole number from 1",
    "check-table paper.pdf": "a PDF; write pdftotext -layout paper.pdf - . reid-ref check-table -",
    "validate --dataset SYSU --published 90/80": "--dataset: .*SYSU-MM01; --queries N says it",
    "validate --dataset market --queries 9 --published 90/80": "--queries: .*none for Market-1501",
    # Lines of the drivers.
    "scripts x.npz --driver market": "--driver: unknown 'market'.* Did you mean 'market1501'",
    "scripts x.npz --driver ide --seed -1": "--seed: .*whole number",
    "scripts missing.npz --driver ide": "missing.npz: No such file",
    "scripts TIES --driver ide": "ties.mat: .*features",
    "scripts MARKET --seed 0": "--seed: .*--driver",
    "baseline MARKET": "COMMAND: .*did you mean evaluate --baseline FILE, or scripts --driver",
    # Figures.
    "plot cameras MARKET -o x.png --no-title": "--no-title: .*one panel",
    **{f"plot {words} -o x.png": message for words, message in {
        "rank-lists MARKET --query 48": "--query: .*0 to 47",
        "rank-lists MARKET --query 0,x": "--query: .*different whole numbers",
        "rank-lists MARKET --query 0 --worst 1": "--worst: not allowed with argument --query",
        "rank-lists MARKET --worst 0": "--worst: .*from 1",
        "rank-lists MARKET --top 0": "--top: .*from 1",
        "rank-lists MARKET --convention veri": "--convention: veri takes lists of good and junk",
        "rank-lists MARKET --convention matlab,mars": "--convention: .*one for rank-lists",
        "rank-lists MARKET --query-names x": "--query-names: .*--images",
        "rank-lists MARKET MARS": "mars_like: .*query labels of market_like",
        "cmc MARKET --query 0": "--query: .*figure rank-lists",
        "ap MARKET --images x": "--images: .*figure rank-lists"}.items()},
    "plot rank-lists MARKET -o x.jpg": "x.jpg: .*.pdf, .svg, .png",
    "plot cmc MARKET -o x.png --title x --no-title": "argument --no-title: .*--title",
    "plot cmc MARKET -o x.jpg": "x.jpg: .*ends in .pdf, .svg, .png",
    "plot cmc MARKET -o x.png --width 3ft": "--width: .*length",
    "plot cmc MARKET -o nowhere/x.png": "nowhere/x.png: .*folder",
    "plot roc MARKET -o x.png": "invalid choice: 'roc'",
    "plot cmc absent.npz -o x.png": "absent.npz", "plot cmc MARKET": "required: -o/--output",
    "plot cmc MARKET -o x.png --last-rank 1": "--last-rank: .*whole number",
    "plot pr MARKET -o x.png --last-rank 9": "--last-rank: .*figure cmc",
    # The page.
    **{f"report MARKET -o x.html {words}": message for words, message in {
        "--top 0": "--top: .*whole number",
        "--query-names x": "--query-names: .*--images",
        "--images none": "none: .*folder of the images",
        "--convention veri": "--convention: veri takes lists",
        "--convention x": "--convention: .*'x'", "--seed -1": "--seed: .*whole number",
        "-o y.html": "argument -o/--output: .*two"}.items()},
    "report MARKET -o no/x.html": "no/x.html: .*folder"}


@pytest.mark.parametrize("words", REFUSED, ids=lambda words: words[:60])
def test_wrong_use(words, tmp_path):
    paths = {"MARKET": MARKET, "MARS": MARS, "TIES": TIES, "README": ROOT / "README.md"}
    done = command(*(paths.get(word, word) for word in shlex.split(words)), cwd=tmp_path)
    assert_one_line_error(done, REFUSED[words])
    assert list(tmp_path.iterdir()) == []
