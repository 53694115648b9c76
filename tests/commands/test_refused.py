"""Wrong use of each command ends in one line that says what was expected, and writes no file."""
import shlex

import pytest

from tests.commands.common import MARKET, MARS, TIES, assert_one_line_error, command
from tests.documents import ROOT

GATE = "evaluate MARKET --expect "
TWICE = "expected mAP once, got it twice; leave one out"
NO_NAMES = "--name: expected a name of its own for each of "
NO_RANKS = "--ranks: expected different whole numbers from 1, e.g. 1,5,10"
NO_NUMBERS = "--at: expected different whole numbers from 1, e.g. 1,5,10, got '{}'"
BENCHMARK = "validate --published 81.1/67.6 "
#: Words of a command and a pattern of its error, in which names in capitals are fixtures.
REFUSED = {
    # What is no command, option or choice.
    "evalute": "COMMAND: unknown 'evalute', did you mean evaluate\\?; see reid-ref --help$",
    "evaluate": "the following arguments are required: FILE; see reid-ref evaluate --help$",
    "evaluate MARKET --bogus": "; see reid-ref evaluate --help$",
    "evaluate MARKET --format x": "; see reid-ref evaluate --help$",
    "completion fish": "invalid choice: 'fish'",
    "evaluate MARKET --set ties=gallery": "--set ties: unknown 'gallery'; known: gallery-order",
    "conventions torchried":
        "error: NAME: unknown 'torchried'; known: matlab.*Did you mean 'torchreid'",
    "evaluate MARKET --shots 0": "--shots: expected --protocol with it, got none",
    "evaluate MARKET --numbers-from 0": "--numbers-from: expected ranked lists and --labels",
    # What is gone names what does it now.
    "rank-list MARKET": "rank-list is gone; use `reid-ref plot rank-lists`",
    "evaluate MARKET --rerank=layumi": "--rerank is gone; use `reid-ref rerank`",
    "evaluate MARKET --ties bounds": "--ties bounds is gone; use `reid-ref ties`",
    "evaluate MARKET --convention matlab,all":
        "--convention: expected all, or names, got matlab, all",
    "evaluate MARKET --convention matlab,mars --per-query x.csv":
        "--per-query: expected one convention, got 2",
    "evaluate MARKET --convention all --by camera":
        "--by: expected one convention, got 15; name one",
    "evaluate MARKET --convention veri":
        "--index-lists: convention 'veri' takes the good and junk images .*the files of both",
    "evaluate MARKET --convention veri --index-lists g.txt j.txt":
        "g.txt: cannot be read: No such file",
    "thresholds MARKET --far 2": "--far: expected different rates from 0 to 1, got \\[2.0\\]",
    "thresholds MARKET --far a": "--far: expected rates from 0 to 1, e.g. 1e-2,1e-3,1e-4, got 'a'",
    "thresholds MARKET --confidence --unit query":
        "--unit: expected identity, got another unit; impostor pairs have two identities",
    "thresholds MARKET --convention matlab,mars": "--convention: expected one, got matlab, m",
    "thresholds MARKET --level 90": "expected --confidence with them",
    "ties MARKET --convention open-reid":
        "--convention: bounds over tie orders are for AP by trapezoid or step",
    "ties MARKET --convention matlab,mars": "--convention: expected one, got matlab, m",
    "evaluate MARKET --set ap=stp":
        "--set ap: unknown 'stp'; known: trapezoid, .*Did you mean 'step'",
    "evaluate MARKET --set ap": "--set: expected KEY=VALUE, e.g. ap=step, got 'ap'",
    "evaluate MARKET --set top_k=0":
        "--set, convention matlab: top_k: expected a whole number from 1, got 0",
    "evaluate MARKET --set ap=sklearn-0.18,arithmetic=float32":
        "--set, convention matlab: ap in float32: unknown 'sklearn-0.18'; known: trapezoid, step",
    "validate MARKET --published 80/60 --set ap=step":
        "--set: expected --convention NAME with it, got none",
    # Numbers.
    "evaluate MARKET --ranks=0": NO_RANKS, "evaluate MARKET --ranks=x": NO_RANKS,
    "evaluate MARKET --ranks=1,1": NO_RANKS, "evaluate MARKET --ranks=\u0661": NO_RANKS,
    "evaluate MARKET --ranks=" + "9" * 5000: NO_RANKS,
    "evaluate MARKET --at 0": NO_NUMBERS.format(0), "evaluate MARKET --at \u00b2": "--at: expect",
    "evaluate MARKET --at 1 --format csv": "--at: expected a table or JSON, got csv",
    "evaluate MARKET --worst 0": "--worst: expected a whole number from 1, got 0",
    "doctor MARKET --seed -3": "expected a whole number from 0, got -3",
    "evaluate MARKET --confidence --level 100":
        "--level: expected percent from 50 to below 100, such as 95, got 100",
    "evaluate MARKET --confidence --resamples 10":
        "--resamples: expected at least 39 for this level, got 10",
    "evaluate MARKET --confidence --resamples 1000000000000":
        "--resamples: expected a whole number from 1 to 1000000, got 1000000000000",
    **{f"evaluate MARKET {words}":
       "--level, --unit, --confidence-method, --resamples, --seed: expected --confidence with "
       "them; add it, or leave them out"
       for words in ("--level 90", "--unit query", "--seed 1", "--resamples 99",
                     "--confidence-method analytic")},
    # Several files.
    "evaluate MARKET nowhere.mat": "nowhere.mat: No such file",
    "evaluate MARKET MARKET": "market_like.mat: expected different files, got this one twice",
    "evaluate MARKET MARS --per-query x.csv":
        "--per-query: expected one result and no --name, got 2 res",
    "evaluate MARKET --name ours --save x.json":
        "--save: expected one .*, got 1 result and --name",
    "evaluate absent.mat --per-query x.xlsx":
        "--per-query: expected a name that ends in .csv or .json, got x.xlsx",
    "evaluate MARKET --save x.txt": "--save: expected a name that ends in .json, got ",
    "evaluate MARKET --save x.json --convention all":
        "--save: expected one convention, got 15; name one",
    "evaluate MARKET --save missing/x.json": "missing/x.json: expected a file name in a folder",
    "evaluate MARKET --save x.json --per-query x.json":
        "expected different files, got this one twice",
    "evaluate MARKET MARS --name ours": NO_NAMES + "2 results, got 'o",
    "evaluate MARKET MARS --name a,a": NO_NAMES + "2",
    "evaluate MARKET --name ''": NO_NAMES + "1 results, got ''",
    "evaluate MARKET MARS --convention veri":
        "market_like: --index-lists: convention 'veri' takes the",
    # Gates.
    GATE + "76.12": "got '76.12'", GATE + "R-Prec@5=3": "--expect: expected NAME=PERCENT",
    GATE + "top1=76.12": "got 'top1=76.12'", GATE + "Rank-0=3": "got 'Rank-0=3'",
    GATE + "mAP=3,mAP=4": f"--expect: {TWICE}",
    GATE + "mAP=0.7612":
        "--expect mAP: expected percent, got 0.7612, which looks like a fraction; write 76.12",
    GATE + "Rank-346=3":
        "--expect: expected a rank up to 345, where this CMC curve ends, got Rank-346",
    GATE + "mAP=3 --tolerance -1":
        "--tolerance: expected percentage points up to 5, such as 0.01, got '-1'",
    GATE + "mAP=3 --tolerance 999":
        "--tolerance: expected percentage points up to 5, such as 0.01, got '999'",
    GATE + "mAP=3 --convention matlab,mars": "--expect: expected one convention",
    "evaluate MARKET --tolerance 1": "--tolerance: expected --expect with it, got none; add it",
    "evaluate MARKET --fail-under mAP=3 --fail-under mAP=4": f"--fail-under: {TWICE}",
    "evaluate MARKET --fail-under mAP=x":
        "--fail-under mAP: expected a number in percent such as 81.1, got 'x'",
    "evaluate MARKET MARS --fail-under mAP=3": "--fail-under: expected one result and no --name",
    # Scripts.
    "scripts MARKET --convention torchreid --only octave":
        "convention 'torchreid' follows no MATLAB script, only matlab, mars do",
    "scripts MARKET --only octave --matlab-dir .":
        "--matlab-dir: expected the folder of the MATLAB scripts, .* evaluation.m and compute_AP",
    "scripts MARKET --only port --matlab-dir .":
        "--matlab-dir: expected the scripts to be run in Octave, got --only port",
    # From one convention to another.
    "explain MARKET --to torchried":
        "--to: unknown 'torchried'; known: .* Did you mean 'torchreid'?",
    "explain MARKET --query 48": "--query: expected a number from 0 to 47, got 48",
    "explain MARKET --to veri":
        "convention .* takes the good and junk images of every query from lists",
    # Re-ranking.
    "rerank MARKET --k1 400": "k1: expected a whole number from 1 to 392",
    "rerank MARKET --lambda 2": "--lambda: expected a number from 0 to 1, got 2.0",
    "rerank MARKET --variant layumi --multi-query x.mat":
        "--variant: expected re-ranking, got --multi-query; the drivers never re-rank",
    "rerank MARKET --convention all": "--convention: expected one, got all; name one",
    "rerank MARKET --multi-query absent.mat": "absent.mat: No such file",
    "rerank TIES": "ties.mat: expected features, got distances",
    # A published figure.
    "validate MARKET":
        "--published, --paper: expected one of them, got none; write --published 81.1/67.6, or",
    "validate MARKET --published 1/2 --paper x":
        "--published, --paper: expected one of them, got bo",
    "validate MARKET --published abc": "--published: expected RANK1/mAP in percent",
    "validate MARKET --paper mars/rnn": "KEY: unknown 'mars/rnn'; nearest: mars/rnn-resnet50",
    "validate MARKET --published 45.8/ --convention veri":
        "--convention: 'veri' needs lists of good",
    "validate MARKET --published 80/60 --max-memory much":
        "--max-memory: expected a size such as 512M or 2G, got 'much'",
    BENCHMARK: "FILE, --dataset: expected one of them, got none; name a result file, or write --d",
    BENCHMARK + "MARKET --dataset mars": "FILE, --dataset: expected one of them, got both",
    BENCHMARK + "--dataset markt1501": "--dataset: unknown 'markt1501'; known: .* 'market1501'?",
    BENCHMARK + "--dataset mars --convention matlab":
        "--convention, --set, --max-memory, --map: expected a result file",
    "validate --dataset mars --paper market1501/bagtricks-resnet50":
        "a figure over the 1,980 queries of MARS, got market1501/bagtricks-resnet50, over 3,368 "
        "of Market-1501",
    "validate --dataset market1501 --paper sysu-mm01/agw-all":
        "got sysu-mm01/agw-all, over SYSU-MM01",
    # The same benchmark, but without the queries in the gallery.
    "validate --dataset mars --paper mars/rnn-resnet50":
        "got mars/rnn-resnet50, over 1,840 of MARS",
    # Published figures, and tables of them.
    "published mars/rnn-resnet50 --dataset mars":
        "KEY: 'mars/rnn-resnet50' names one figure alre",
    "published --dataset x": "dataset: unknown 'x'; known: ",
    "published mars --dataset mars": "BENCHMARK, --dataset: expected one of them, got both",
    "published mars --protocol torchreid":
        "--protocol: expected one with published figures of .*: mars, mars-torchreid",
    "check-table missing.md":
        "missing.md: cannot be read: No such file or directory; expected Markdown",
    "check-table MARKET": "market_like.mat: cannot be read: not text; expected Markdown",
    "check-table README --dataset markt": "--dataset: unknown 'markt'; known: .*market1501",
    "check-table README --dataset SYSU":
        "--dataset: the good images of SYSU-MM01 are not on record; known: .*market1501",
    # Lines of the drivers.
    "baseline x.npz --driver market": "--driver: unknown 'market'.* Did you mean 'market1501'",
    "baseline x.npz --driver ide --seed -1": "--seed: expected a whole number from 0",
    "baseline missing.npz --driver ide": "missing.npz: No such file",
    "baseline TIES --driver ide": "expected features, since the driver computes",
    # Figures.
    "plot cameras MARKET -o x.png --no-title":
        "--no-title: expected a figure with one panel, got 2, whose titles say what they show",
    "plot rank-lists MARKET -o x.png --title x": "rank-lists have no title",
    "plot cmc MARKET -o x.png --title x --no-title": "argument --no-title: .*--title",
    "plot cmc MARKET -o x.jpg": "x.jpg: expected a name that ends in .pdf, .svg, .png",
    "plot cmc MARKET -o x.png --width 3ft": "--width: expected a length from 2in",
    "plot cmc MARKET -o nowhere/x.png": "nowhere/x.png: expected a file name in a folder",
    "plot roc MARKET -o x.png": "invalid choice: 'roc'",
    "plot cmc absent.npz -o x.png": "absent.npz", "plot cmc MARKET": "required: -o/--output",
    "plot cmc MARKET -o x.png --last-rank 1": "--last-rank: expected a whole number",
    "plot pr MARKET -o x.png --last-rank 9":
        "--last-rank: expected the figure cmc, got pr; leave it out",
    "plot cameras MARKET -o x.png --convention mars":
        "--convention, --set, --index-lists: cameras are drawn from the labels alone",
    "plot distances MARKET -o x.png --set ap=step": "leave them out",
    # The page.
    **{f"report MARKET -o x.html {words}": message for words, message in {
        "--top 0": "--top: expected a whole number from 1 to 4294967295, got 0",
        "--query-names x": "--query-names, --gallery-names: expected --images ROOT",
        "--images none": "none: expected the folder of the images",
        "--convention veri": "--convention: veri takes lists",
        "--convention x": "--convention: .*'x'", "--seed -1": "--seed: expected",
        "-o y.html": "argument -o/--output: .*two"}.items()},
    "report MARKET -o no/x.html": "expected a file name in a folder that exists"}


@pytest.mark.parametrize("words", REFUSED, ids=lambda words: words[:60])
def test_wrong_use(words, tmp_path):
    paths = {"MARKET": MARKET, "MARS": MARS, "TIES": TIES, "README": ROOT / "README.md"}
    done = command(*(paths.get(word, word) for word in shlex.split(words)), cwd=tmp_path)
    assert_one_line_error(done, REFUSED[words])
    assert list(tmp_path.iterdir()) == []
