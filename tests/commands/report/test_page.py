"""The page of `reid-ref report`, parsed: its numbers, its roles, its pictures, and bad input."""
import base64
import io
import json
import re
import shutil
import sys

import numpy as np
import pytest
from PIL import Image

import reid_ref
from reid_ref import CONVENTIONS, Labels
from reid_ref.analysis.compare.answer import p_text, shown_columns
from reid_ref.cli import main
from reid_ref.commands.report import show as html
from reid_ref.commands.report.compute import NO_DISTANCES
from tests.commands.report.seen import (
    COLOURS, Page, images_of, market, names_of, parsed, rows, write_images, write_result)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
CSP = ("default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'")


@pytest.fixture
def one(made):
    return parsed((made[0] / "one.html").read_text())


def percent(value):
    return "-" if value is None else f"{100 * value:.2f}"


# ------------------------------------------------------------------ self-contained

@pytest.mark.parametrize("name", ["one.html", "two.html"])
def test_nothing_is_loaded_and_links_fit(made, name):
    text = (made[0] / name).read_text()
    root = Page(text).root
    policy = [one for one in root.all("meta")
              if one.attributes.get("http-equiv") == "Content-Security-Policy"]
    assert [one.attributes["content"] for one in policy] == [CSP]
    assert "http" not in text.replace("http-equiv", "")
    assert "@import" not in text and "url(" not in re.sub(r"url\(#[\w-]+\)", "", text)
    for element in root.all():
        assert "src" not in element.attributes and "srcset" not in element.attributes
        href = element.attributes.get("href", element.attributes.get("xlink:href", "#"))
        assert re.match("#|data:image/(jpeg|png);base64,", href), href
        assert element.tag not in ("link", "iframe", "object", "embed", "base", "form")
        assert not any(key.startswith("on") for key in element.attributes)
    # Links lead to what is on the page, and each name is there once.
    ids = [element.attributes["id"] for element in root.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    links = {element.attributes["href"][1:] for element in root.all()
             if element.attributes.get("href", "").startswith("#")}
    assert links <= set(ids)
    used = set(re.findall(r"url\(#([\w-]+)\)", text))
    assert used and used <= set(ids)


def test_the_same_input_gives_the_same_bytes(made, tmp_path):
    root = made[0]
    assert main(["report", str(root / "a.npz"), "-o", str(tmp_path / "again.html"),
                 *images_of(root)]) == 0
    assert (tmp_path / "again.html").read_bytes() == (root / "one.html").read_bytes()


# ------------------------------------------------------------------ numbers

def test_the_json_is_that_of_evaluate(made, one, capsys):
    root, query, gallery = made
    assert main(["evaluate", str(root / "a.npz"), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    for key in printed.keys() - {"schema", "warnings"}:
        assert one[1][key] == printed[key], key


def test_the_headline_is_in_the_json(one):
    root, data = one
    shown = {}
    for block in root.one("dl", class_="headline").children:
        name = block.one("dt").text.removesuffix(" (%)")
        shown[name] = [cell.text for cell in block.all("span")]
    assert list(shown) == ["mAP", "Rank-1", "Rank-5", "Rank-10", "Rank-20", "mINP"]
    for name, (number, *band) in shown.items():
        assert number == percent(data[name])
        found = data["intervals"][name]
        assert band == [f"{percent(found['low'])} to {percent(found['high'])}"]
    assert data["signature"].replace("|", " | ") in root.one("section", id="about").text


def test_the_headline_of_two_has_differences(made):
    root, data = parsed((made[0] / "two.html").read_text())
    table = root.one("table", class_="headline")
    assert rows(table)[0] == ["percent", "mAP", "Rank-1", "Rank-5", "Rank-10", "Rank-20", "mINP"]
    assert [row.attributes["data-system"] for row in table.all("tr")
            if "data-system" in row.attributes] == ["a", "b"]
    for row, name in zip(list(table.all("tr"))[1:], "ab"):
        assert [cell.one("span", class_="number").text for cell in row.all("td")] == [
            percent(data["results"][name][metric]) for metric in rows(table)[0][1:]]
    changes = {cell.attributes["data-metric"]: cell for cell in row.all("td")
               if list(cell.all("span", class_="change"))}
    assert set(changes) == {"mAP", "Rank-1"}
    for column in shown_columns(several=False):
        assert (f"{column.name}: {column.words}" in root.text) == (column.name != "+/-/=")
    assert "better, worse, same: how many identities gained, lost, or did neither" in root.text
    for found in data["comparison"]["comparisons"]:
        first, second = changes[found["metric"]].all("span", class_="change")
        assert first.one("strong").text == f"{100 * found['difference']:+.2f}"
        assert f"({100 * found['low']:+.2f} .. {100 * found['high']:+.2f})" in first.text
        assert second.text == (f"p {p_text(found['p_adjusted'])}; {found['better']} better; "
                               f"{found['worse']} worse; {found['same']} same")


def test_a_page_of_methods_of_two_seeds(made, tmp_path):
    """Numbers and tests are of all seeds, rank lists of the first; both questions are answered."""
    root, query, gallery = made
    for name, seed in (("a2", 3), ("b2", 4)):
        write_result(tmp_path / f"{name}.npz", query, gallery, seed, noise=1.6)
    files = [[str(root / f"{name}.npz"), str(tmp_path / f"{name}2.npz")] for name in "ab"]
    assert main(["report", *(f"{name}={','.join(of)}" for name, of in zip("AB", files)),
                 "-o", str(tmp_path / "seeds.html"), "--queries", "4"]) == 0
    results = {name: [evaluated(file) for file in of] for name, of in zip("AB", files)}
    expected = reid_ref.compare(results, metrics=["mAP", "Rank-1"])
    page, data = parsed((tmp_path / "seeds.html").read_text())
    for change, found in zip(expected.comparisons, data["comparison"]["comparisons"]):
        assert (found["p"], found["methods"]["p"]) == (change.p, change.methods.p)
    table = page.one("table", class_="headline")
    cell = next(one for one in table.all("td") if "sd" in one.text and "methods" in one.text)
    of_map = expected.comparisons[0]
    sd = expected.spreads["B"]["mAP"]
    assert cell.one("span", class_="number").text == percent(sd.mean)
    assert f"sd {percent(sd.sd)} ({percent(sd.low)} to {percent(sd.high)})" in cell.text
    assert [one.text for one in table.all("th", scope="row")] == ["A2 seeds", "B2 seeds"]
    assert "these trained models" in cell.text and "the methods" in cell.text
    assert f"p {p_text(of_map.p)}; " in cell.text and f"p {p_text(of_map.methods.p)}" in cell.text
    assert "all below is of the first seed" in page.text
    assert data["results"]["A"]["mAP"] == results["A"][0].mAP
    interval = data["results"]["A"]["intervals"]["mAP"]
    assert interval["value"] == pytest.approx(expected.values["A"]["mAP"], abs=1e-15)


def evaluated(file):
    given = reid_ref.read(file)
    return reid_ref.evaluate_distances(given.distances, given.query, given.gallery)


def test_what_holds_of_both_is_said_once(made):
    root, _ = parsed((made[0] / "two.html").read_text())
    facts = rows(next(root.one("section", id="about").all("table")))
    assert [row[0] for row in facts] == [
        "input", "input", "images", "dataset", "gallery", "matches", "queries", "ties",
        "signature"]
    assert facts[0][1].startswith("a:") and facts[1][1].startswith("b:")


def test_the_order_of_the_page(made):
    root, _ = parsed((made[0] / "two.html").read_text())
    assert [section.attributes["id"] for section in root.one("main").children] == [
        "numbers", "figures", "about", "lists", "cameras", "conventions", "table"]
    assert len(list(root.one("section", id="figures").all("figure"))) == 6
    captions = [each.text for each in root.one("section", id="cameras").all("figcaption")]
    assert [text.split(":")[0] for text in captions] == ["a", "b", "b less a"]


def test_the_table_of_conventions(one):
    root, data = one
    table = root.one("section", id="conventions").one("table")
    for row, cells in zip(list(table.all("tr"))[1:], rows(table)[1:]):
        name = next(iter([*row.all("summary"), *row.all("td")])).text
        assert [each.text for each in row.all("p")] == list(CONVENTIONS[name].differences)
        cells[0], found = name, data["conventions"][name]
        assert cells == [
            cells[0], percent(found["mAP"]), "-" if found["mAP"] is None else
            f"{100 * (found['mAP'] - data['mAP']) + 0.0:+.2f}",
            *(percent(found.get(f"Rank-{k}")) for k in (1, 5, 10, 20)), percent(found["mINP"]),
            f"{found['counted']:,}"]
    # Those of the same numbers are named in one line.
    shown = [next(iter([*row.all("summary"), *row.all("td")])).text
             for row in list(table.all("tr"))[1:]]
    equal = re.search(r"The same numbers have (.*?)\.\s", root.one(
        "section", id="conventions").text + " ")[1]
    named = dict(re.findall(r"([\w., -]+) \(([\w.-]+)\)", equal))
    others = {other.strip(): first for names, first in named.items()
              for other in names.split(",")}
    assert {*shown, *others} == {*data["conventions"]} and len(shown) + len(others) > 10
    for other, first in others.items():
        assert percent(data["conventions"][other]["mAP"]) == percent(
            data["conventions"][first]["mAP"])


# ------------------------------------------------------------------ rank lists

def test_frames_are_the_roles_of_the_convention(made, one):
    root, query, gallery = made
    shown = 0
    for section in one[0].all("section", class_="query"):
        k = int(section.attributes["id"][1:])
        for card in section.all("li"):
            if "data-image" not in card.attributes:
                continue
            image = int(card.attributes["data-image"])
            same = gallery.identity[image] == query.identity[k]
            if gallery.identity[image] == -1 or (same and gallery.camera[image]
                                                 == query.camera[k]):
                role = "ignored"
            else:
                role = ("good" if same else "distractor" if gallery.identity[image] == 0
                        else "wrong")
            assert card.attributes["class"] == role
            assert card.one("span", class_="role").text.split()[1] == role[0].upper()
            shown += 1
    assert shown > 100
    for role in ("good", "wrong", "distractor", "ignored"):
        assert list(one[0].all("li", class_=role))


def test_captions_are_those_of_the_json(one):
    for found in one[1]["rank_lists"]:
        section = one[0].one("section", id=f"q{found['query']}")
        cards = [card for card in section.one("ol", data_system="a").children
                 if "data-image" in card.attributes]
        entries = [*found["entries"], *([found["next_good"]] if found["next_good"] else [])]
        assert len(cards) == len(entries)
        for card, entry in zip(cards, entries):
            facts = [fact.text for fact in card.all("span", class_="facts")]
            assert card.one("span", class_="role").text.split()[2:] == (
                [] if entry["rank"] is None else [str(entry["rank"])])
            assert facts == [f"{entry['identity']} c{entry['camera']}",
                             f"d {entry['distance']:.4g}",
                             *([entry["reason"]] if entry["reason"] else [])]


def test_without_pictures_a_list_is_a_table(tmp_path):
    root, data, _ = report(tmp_path, *market())
    assert not list(root.all("button", class_="picture")) and not list(root.all("ol"))
    check_listings(root, data, "r")


def test_beside_pictures_there_is_a_table(one):
    check_listings(*one, "a")


def check_listings(root, data, system):
    for found in data["rank_lists"]:
        table = root.one("section", id=f"q{found['query']}").one("table", data_system=system)
        entries = [*found["entries"], *([found["next_good"]] if found["next_good"] else [])]
        assert rows(table)[0] == ["rank", "image", "identity", "camera", "distance"]
        for row, entry in zip(rows(table)[1:], entries, strict=True):
            rank = "" if entry["rank"] is None else f" {entry['rank']}"
            reason = f" {entry['reason']}" if entry["reason"] else ""
            assert row[0].endswith(f"{entry['role'][0].upper()}{rank}{reason}")
            assert row[1:] == [str(entry["image"]), str(entry["identity"]), str(entry["camera"]),
                               f"{entry['distance']:.4g}"]


def test_causes_are_those_of_the_json(one):
    root, data = one
    table = rows(next(table for table in root.one("section", id="about").all("table")
                      if rows(table)[0][0] == "cause"))
    causes = data["causes"]
    assert causes["sampled"] == len(data["per_query"]["queries"]) == sum(
        causes["queries"].values())
    for cause, number in table[1:]:
        expected = str(causes["queries"][cause])
        if cause in causes["returned"]:
            expected += f" ({100 * causes['returned'][cause]:+.2f})"
        assert number == expected
    for query, loss in causes["shown"].items():
        heading = next(root.one("section", id=f"q{query}").all("h4")).text
        assert (f"lost by: {loss['cause']}" in heading) == (
            loss["cause"] not in ("nothing lost", "no match"))


def test_every_picture_is_of_its_identity(one):
    check_pictures(one[0])


@pytest.mark.parametrize("kind", ["Market-style", "ImageFolder"])
def test_pictures_from_folders(tmp_path, kind):
    """Features in the order of the folders: sorted names, or classes as torchvision has them."""
    for side, labels, folder in zip(("query", "gallery"), market(), ("query", "gallery")):
        names = names_of(labels, folder)
        if kind == "ImageFolder":
            names = [name.replace("/", f"/{name.split('/')[1].split('_')[0]}/") for name in names]
        write_images(tmp_path, names, labels)
        order = np.array(sorted(range(len(names)), key=names.__getitem__))
        np.save(tmp_path / f"{side}.npy", order)
    query, gallery = (labels[np.load(tmp_path / f"{side}.npy")]
                      for side, labels in zip(("query", "gallery"), market()))
    write_result(tmp_path / "r.npz", query, gallery)
    assert main(["report", str(tmp_path / "r.npz"), "-o", str(tmp_path / "r.html"), "--images",
                 str(tmp_path)]) == 0
    check_pictures(parsed((tmp_path / "r.html").read_text())[0])


def check_pictures(page):
    """Every picture has the colour of the identity below it."""
    pictures = {}
    for image in page.one("svg", id="pictures").all("image"):
        data = base64.b64decode(image.attributes["href"].partition(",")[2])
        picture = Image.open(io.BytesIO(data))
        assert picture.size == (64, 128)
        pictures[image.attributes["id"]] = np.asarray(picture)[64, 32].astype(int)
    n = 0
    for section in page.all("section", class_="query"):
        for card in section.all("li"):
            for use in card.all("use"):
                identity = int(next(card.all("span", class_="facts")).text.split()[0])
                colour = pictures[use.attributes["href"][1:]]
                assert abs(colour - COLOURS[identity]).max() < 24, card.text
                n += 1
    assert n > 100


def test_tabs_have_the_queries_of_their_reason(one):
    root, data = one
    for tab in root.all("button", role="tab"):
        why = tab.attributes["data-why"]
        found = [section.attributes["id"] for section in root.all("section", class_="query")
                 if why == "all" or set(why.split(",")) & set(
                     section.attributes["data-why"].split(","))]
        assert tab.text.endswith(f"({len(found)})")
        if why != "all":
            assert {int(one[1:]) for one in found} == set(data["shown"][why])
    wrong = {row["query"] for row in data["per_query"]["queries"]
             if row["status"] == "ok" and row["first_match"] != 1}
    assert set(data["shown"].get("rank-1 wrong", ())) == wrong


def test_gains_and_losses_stand_one_above_the_other(made):
    root, data = parsed((made[0] / "two.html").read_text())
    before, after = (
        np.array([row["ap"] or 0 for row in data["results"][name]["per_query"]["queries"]])
        for name in "ab")
    gain = after - before
    assert data["shown"]["gain"][0] == np.argmax(gain)
    assert data["shown"]["loss"][0] == np.argmin(gain)
    for query in (np.argmax(gain), np.argmin(gain)):
        section = root.one("section", id=f"q{query}")
        lists = [one for one in section.all("ol") if "data-system" in one.attributes]
        assert [one.attributes["data-system"] for one in lists] == ["a", "b"]
    # In turn, before the others.
    gains, losses = data["shown"]["gain"], data["shown"]["loss"]
    first = [section.attributes["id"] for section in root.all("section", class_="query")]
    assert first[:4] == [f"q{query}" for pair in zip(gains, losses) for query in pair][:4]


# ------------------------------------------------------------------ text from outside

EVIL = "<script>alert(1)</script> \"'><b>&amp;"


def test_names_stay_text(tmp_path):
    query, gallery = market()
    path = tmp_path / f"{EVIL}.npz"     # in folders named after what is before each /
    path.parent.mkdir(parents=True)
    names = [f"{k}{EVIL}.png" for k in range(len(gallery))]
    write_result(path, query, gallery, query_names=names[:len(query)], gallery_names=names)
    for name, labels in ((names[:len(query)], query), (names, gallery)):
        write_images(tmp_path, name, labels)
    assert main(["report", str(path), "-o", str(tmp_path / "x.html"), "--images",
                 str(tmp_path)]) == 0
    root, data = parsed((tmp_path / "x.html").read_text())
    assert len(list(root.all("script"))) == 2 and not list(root.all("b"))
    assert root.one("h1").text == path.stem
    assert data["files"] == [str(path)]
    titles = [one.text for one in root.all("title")]
    assert any(one.endswith(f"{EVIL}.png") for one in titles)


def test_names_that_are_not_utf_8(tmp_path):
    query, gallery = market()
    for labels, folder in ((query, "query"), (gallery, "gallery")):
        names = [name.replace(".jpg", "\udcff.jpg") for name in names_of(labels, folder)]
        write_images(tmp_path, names, labels)
    path = tmp_path / "\udcff.npz"
    write_result(path, *(labels[np.argsort(names_of(labels, ""))] for labels in market()))
    for words in (["report", "-o", str(tmp_path / "x.html")],
                  ["plot", "rank-lists", "-o", str(tmp_path / "x.svg")]):
        assert main([*words, str(path), "--images", str(tmp_path)]) == 0
    root, _ = parsed((tmp_path / "x.html").read_text(encoding="utf-8"))
    assert any(one.text.endswith("\\udcff.jpg") for one in root.all("title"))


# ------------------------------------------------------------------ small and odd inputs

def report(tmp_path, query, gallery, *options):
    """The tree and the JSON of the page of a made result, and its distances."""
    distances = write_result(tmp_path / "r.npz", query, gallery)
    assert main(["report", str(tmp_path / "r.npz"), "-o", str(tmp_path / "r.html"), *options]) == 0
    return *parsed((tmp_path / "r.html").read_text()), distances


@pytest.mark.parametrize(("query", "gallery"), [
    (Labels([1], [1]), Labels([1, 2], [2, 2])),                   # one query
    (Labels([1, 2], [1, 1]), Labels([-1, -1], [2, 2])),           # everything is ignored
    (Labels([1, 2], [1, 1]), Labels([1, 1], [1, 1])),             # one camera, nothing matches
    (Labels([1, 1], [1, 1]), Labels([1], [2]))],                  # one image
    ids=["one query", "all ignored", "one camera", "one image"])
def test_little_data(tmp_path, query, gallery):
    root, data, _ = report(tmp_path, query, gallery)
    assert len(data["per_query"]["queries"]) == len(query)
    number = root.one("dl", class_="headline").children[0].one("span", class_="number").text
    assert number == percent(data["mAP"])


def test_the_table_and_the_lists_are_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(html, "MOST_ROWS", 5)
    root, data, _ = report(tmp_path, *market(), "--queries", "0")
    assert len(data["per_query"]["queries"]) == 5
    assert "The table has the first 5 of 8 queries" in root.one("section", id="table").text
    assert not list(root.all("section", class_="query"))
    assert "since --queries is 0" in root.one("section", id="lists").text


def test_saved_results(made, tmp_path, capsys):
    """The numbers are those of the page of the files; what needs distances is left out."""
    root, query, _ = made
    for name in "ab":
        assert main(["evaluate", str(root / f"{name}.npz"), "--save",
                     str(tmp_path / f"{name}.json")]) == 0
    whole = parsed((root / "two.html").read_text())[1]
    saved, other = str(tmp_path / "a.json"), str(root / "b.npz")
    for files, names in (([saved], "a"), ([saved, str(tmp_path / "b.json")], "ab"),
                         ([saved, other], "a")):
        capsys.readouterr()
        assert main(["report", *files, "-o", str(tmp_path / "s.html")]) == 0
        told = [line for line in capsys.readouterr().err.splitlines() if "saved result" in line]
        assert told == [f"reid-ref: warning: {name}: {NO_DISTANCES}" for name in names]
        tree, data = parsed((tmp_path / "s.html").read_text())
        by_name = data.get("results", {"a": data})
        assert tree.one("section", id="about").text.count(NO_DISTANCES) == 1
        for name, values in by_name.items():
            expected = whole["results"][name]
            if name in names:
                assert expected.keys() - values.keys() == {
                    "findings", "rank_lists", "camera_pairs", "conventions", "left_out", "causes"}
            for key in values.keys() & expected.keys() - {"files", "layout", "dataset"}:
                assert values[key] == expected[key], (name, key)
        assert data.get("comparison") in (None, whole["comparison"])
        sections = {one.attributes["id"] for one in tree.one("main").children}
        links = {one.attributes["href"][1:] for one in tree.one("nav").all("a")}
        assert links == sections - {"numbers"}
        lists = [one.attributes["data-system"] for one in tree.all("table", class_="listing")
                 if "data-system" in one.attributes]
        assert set(lists) == ({"b"} if other in files else set())
        assert ("conventions" in sections) == (other in files)
        assert len(next(iter(by_name.values()))["per_query"]["queries"]) == len(query)


def test_a_convention_of_another_toolbox(tmp_path):
    query, gallery = market()
    _, data, distances = report(tmp_path, query, gallery, "--convention", "torchreid")
    result = reid_ref.evaluate_distances(distances, query, gallery, convention="torchreid")
    assert data["mAP"] == result.mAP


# ------------------------------------------------------------------ bad input

def fails(capsys, folder, *options):
    before = sorted(folder.iterdir())
    assert main(list(map(str, options))) == 2
    said = capsys.readouterr()
    assert said.out == "" and sorted(folder.iterdir()) == before
    return said.err


def the_error(err):
    """The one line of the error, after the warnings."""
    *others, error = err.splitlines()
    assert error.startswith("reid-ref: error: ") and "Traceback" not in err
    assert all(line.startswith("reid-ref: warning: ") for line in others)
    return error


def test_missing_broken_and_wrong_images(made, tmp_path, capsys):
    root, _, _ = made
    names = (root / "gallery.txt").read_text().split()
    (tmp_path / "broken").mkdir()
    shutil.copytree(root / "query", tmp_path / "query")
    for name in names:
        (tmp_path / "broken" / name.split("/")[1]).write_bytes(b"no image")
    names_file = tmp_path / "names.txt"
    for given, said, images in (
            (names[::-1], "--gallery-names: image 0 is", root),
            (names[1:], f"{len(names)} gallery images", root),
            ([name.replace("_00.jpg", "_01.jpg") for name in names], "no such image", root),
            ([f"../made/{name}" for name in names], "an image below", root),
            ([name.replace("bounding_box_test", "broken") for name in names],
             "a file that cannot be decoded", tmp_path)):
        names_file.write_text("\n".join(given))
        err = fails(capsys, tmp_path, "report", root / "a.npz", "-o", tmp_path / "x.html",
                    "--images", images, "--query-names", root / "query.txt", "--gallery-names",
                    names_file)
        assert said in the_error(err)


def test_results_of_other_queries(made, tmp_path, capsys):
    query, gallery = market()
    write_result(tmp_path / "c.npz", Labels(query.identity[::-1], query.camera), gallery)
    err = fails(capsys, tmp_path, "report", made[0] / "a.npz", tmp_path / "c.npz", "-o",
                tmp_path / "x.html")
    assert "query 0 has identity 1 in a and identity 8 in c" in err


def test_missing_libraries(made, tmp_path, capsys, monkeypatch):
    for name in html.NEEDS:
        monkeypatch.setitem(sys.modules, name.partition(".")[0], None)
    err = fails(capsys, tmp_path, "report", made[0] / "a.npz", "-o", tmp_path / "x.html")
    assert err == ("reid-ref: error: report: needs jinja2, matplotlib, pillow, which are not "
                   "installed; pip install jinja2 matplotlib pillow\n")


def test_contrast_is_that_of_wcag_aa():
    """4.5 for text, by the formula of WCAG 2.1, in light, dark and print."""
    style = (html.HERE / "page.css").read_text()
    schemes = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    assert len(schemes) == 3
    for scheme in schemes:
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", scheme))
        for name in ("text", "quiet", "link", "good", "wrong", "distractor", "ignored", "query"):
            for ground in ("ground", "raised"):
                one, other = sorted((luminance(colours[name]), luminance(colours[ground])))
                assert (other + 0.05) / (one + 0.05) >= 4.5, (name, ground)


def luminance(colour):
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4
              for x in (int(colour[k:k + 2], 16) / 255 for k in (1, 3, 5))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_names_without_their_folder_are_found_in_it(made, tmp_path):
    """--images is the data set's folder, and the lists of names lack query/ and the other."""
    root, _, _ = made
    lists = []
    for side in ("query", "gallery"):
        names = (root / f"{side}.txt").read_text().splitlines()
        (tmp_path / f"{side}.txt").write_text("\n".join(name.split("/")[1] for name in names))
        lists += [f"--{side}-names", str(tmp_path / f"{side}.txt")]
    assert main(["report", str(root / "a.npz"), "-o", str(tmp_path / "own.html"), "--images",
                 str(root), *lists]) == 0
    whole, own = (parsed(path.read_text())[0] for path in (root / "one.html",
                                                           tmp_path / "own.html"))
    for page in (whole, own):
        assert len(list(page.one("svg", id="pictures").all("image"))) > 20
    assert [image.attributes["href"] for image in own.one("svg", id="pictures").all("image")] == [
        image.attributes["href"] for image in whole.one("svg", id="pictures").all("image")]
