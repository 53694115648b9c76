"""Made data sets with pictures, and pages as a parser sees them."""
import colorsys
import json
from html.parser import HTMLParser

import numpy as np

from reid_ref import Labels
from tests.cases import save

#: Colour of each identity: no two are alike, so a wrong picture is seen.
COLOURS = {k: tuple(round(255 * x) for x in colorsys.hsv_to_rgb(k / 9, 1, 1 if k % 2 else 0.6))
           for k in range(9)} | {-1: (128, 128, 128), 0: (255, 255, 255)}


def market(identities=8, seed=0):
    """Labels like Market-1501's: junk, distractors, and queries without a match."""
    rng = np.random.default_rng(seed)
    identity = np.concatenate([np.repeat(np.arange(-1, identities), 7)])
    gallery = Labels(identity, rng.integers(1, 4, len(identity)))
    query = Labels(np.arange(1, identities + 1), 1 + np.arange(identities) % 3)
    return query, gallery


def write_result(path, query, gallery, seed=0, noise=0.8, **more):
    """A distance file: torchreid's keys. Returns the distances."""
    rng = np.random.default_rng(seed)
    distances = noise * rng.random((len(query), len(gallery)))
    distances += query.identity[:, None] != gallery.identity
    save(path, distances.round(3), query, gallery, **more)
    return distances.round(3)


def names_of(labels, folder):
    """Names as Market-1501's, in the order of the labels."""
    return [f"{folder}/{f'{i:04d}' if i != -1 else i}_c{c}s1_{k:06d}_00.jpg"
            for k, (i, c) in enumerate(zip(labels.identity.tolist(), labels.camera.tolist()))]


def write_images(root, names, labels):
    """An image a name: the colour of the identity, a bar as long as the camera's number."""
    from PIL import Image, ImageDraw

    for name, identity, camera in zip(names, labels.identity.tolist(), labels.camera.tolist()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        image = Image.new("RGB", (32, 64), COLOURS[identity])
        ImageDraw.Draw(image).rectangle([0, 0, 5 * camera, 4], fill="black")
        image.save(path, quality=95)


def images_of(root):
    """Options that name the images of `made`."""
    return ["--images", str(root), "--query-names", str(root / "query.txt"),
            "--gallery-names", str(root / "gallery.txt")]


class Element:
    """One element: its name, attributes, children and text."""

    def __init__(self, tag, attributes):
        self.tag, self.attributes, self.children, self.words = tag, dict(attributes), [], []

    def all(self, tag=None, **attributes):
        """Every element inside, in order, with this name and these attributes; class_ is one."""
        for child in self.children:
            if (tag is None or child.tag == tag) and all(
                    value in (child.attributes.get("class") or "").split() if key == "class_"
                    else child.attributes.get(key.replace("_", "-")) == value
                    for key, value in attributes.items()):
                yield child
            yield from child.all(tag, **attributes)

    def one(self, tag=None, **attributes):
        found, = self.all(tag, **attributes)
        return found

    @property
    def text(self):
        return "".join(one if isinstance(one, str) else one.text for one in self.words).strip()


class Page(HTMLParser):
    """A page as a tree; elements that are left open fail."""

    VOID = {"meta", "input", "br", "link", "img"}

    def __init__(self, text):
        super().__init__()
        self.root = Element("page", [])
        self._open = [self.root]
        self.feed(text)
        self.close()
        assert self._open == [self.root], [one.tag for one in self._open]

    def handle_starttag(self, tag, attrs):
        element = Element(tag, attrs)
        self._open[-1].children.append(element)
        self._open[-1].words.append(element)
        if tag not in self.VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        element = Element(tag, attrs)
        self._open[-1].children.append(element)

    def handle_endtag(self, tag):
        assert self._open.pop().tag == tag, tag

    def handle_data(self, data):
        self._open[-1].words.append(data)


def rows(table):
    return [[cell.text for cell in row.children] for row in table.all("tr")]


def parsed(text):
    """The tree of a page, and its JSON."""
    root = Page(text).root
    return root, json.loads(root.one("script", id="data").text)
