"""Numbers to rows, rows to a table: what was measured beside what is wanted.

A row's `ratio` is of two times from the same run. `least` and `aim` are what this project asks
of itself; whether they are reached is said in words.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MIB = 2**20
#: Work to (at least, aim). Faster: how many times, more is better. The rest: less is better.
WANTED = {"cython": (10, 20), "octave": (200,), "read": (6, 4), "512": (2.2, 1.5),
          "2048": (1.6, 1.2), "form": (2,), "protocol": (3,),
          "memory": (1024, 300), "growth": (1.3,), "cluster": (1.2,), "conventions": (3, 1.5),
          "help": (0.3, 0.15), "fixture": (1, 0.5), "rerank": (8, 20),
          "rerank memory": (2048, 1024), "msmt17 memory": (6144,),
          "interval market1501": (0.5,), "interval msmt17": (2,), "interval memory": (200,),
          "thresholds": (3,), "person search": (10,), "person search memory": (1024,),
          "command": (0.4,), "compare": (2,), "command memory": (300,),
          "doctor": (1,), "strict": (1.5,), "search": (120,), "search memory": (2048,),
          "ways": (.85,), "ways below": (.6,)}
FASTER = ("cython", "octave", "rerank")
PEERS = {"cython": "Cython evaluator (torchreid, fast-reid)",
         "python": "its Python form (a tenth of the queries, scaled)",
         "layumi_loop": "layumi-style loop",
         "octave": "matlab_ref in Octave (some queries, scaled)",
         "read": "one plain read, distances.sum()"}
FORMS = {"float64": "the same in float64", "fortran": "the same, column after column",
         "mapped": "the same, memory-mapped"}
HEADER = ("work", "ours", "against", "ratio", "at least", "aim", "reached")
LIMIT = "≤ {:g}{}"


@dataclass(frozen=True)
class Row:
    """One line; `value` is the ratio, the MiB or the seconds that is compared with `wanted`."""

    work: str
    ours: str
    against: str
    value: float
    unit: str = "x"
    wanted: str = ""

    def short(self) -> str:
        """Return ours and the ratio, for the table of README.md."""
        return ", ".join(filter(None, (self.ours, self.shown())))

    def shown(self) -> str:
        return (f"{self.value:.3g}" if self.value < 1000 else f"{self.value:.0f}") + self.unit

    def cells(self) -> tuple[str, ...]:
        shown = self.shown()
        if self.wanted not in WANTED:
            return self.work, self.ours, self.against, shown, "", "", ""
        faster = self.wanted in FASTER
        reached = [name for name, limit in zip(("at least", "aim"), WANTED[self.wanted])
                   if (self.value >= limit if faster else self.value <= limit)]
        limits = [f"{limit}x" if faster else LIMIT.format(limit, self.unit)
                  for limit in WANTED[self.wanted]]
        return (self.work, self.ours, self.against, shown, *(limits + [""])[:2],
                reached[-1] if reached else "no")


def distance_rows(measured: dict[str, Any]) -> list[Row]:
    found = []
    for difficulty in ("hard", "middle", "easy"):
        one = measured[difficulty]
        times = one["seconds"]
        work = f"(a) distances, mAP {one['mAP']:.2f}"
        for name in PEERS:
            if name in times:
                ratio = times["ours"] / times[name]
                found.append(Row(work, second(times["ours"]),
                                 f"{PEERS[name]}: {second(times[name])}",
                                 ratio if name == "read" else 1 / ratio,
                                 "x" if name == "read" else "x faster", name))
        found += [Row(work, second(times["ours"]), f"{text}: {second(times[name])}",
                      times[name] / times["ours"], "x as long", "form")
                  for name, text in FORMS.items() if name in times]
        found.append(memory_row(work, one["bytes_beyond_input"], "the matrix"))
    return found


def feature_rows(measured: dict[str, Any]) -> list[Row]:
    found = []
    for dims, difficulties in measured.items():
        for difficulty, one in difficulties.items():
            times = one["seconds"]
            work = f"(b) features, {dims}-d, {difficulty}, mAP {one['mAP']:.2f}"
            found.append(Row(work, second(times["ours"]),
                             f"the product of kept images: {second(times['product'])}",
                             times["ours"] / times["product"], wanted=dims))
            found.append(memory_row(work, one["bytes_beyond_input"], "the features"))
    return found


def growth_rows(measured: dict[str, Any]) -> list[Row]:
    sizes = measured["sizes"]
    each = [one["seconds"] / one["gallery"] for one in sizes]
    found = [Row(f"(c) growth, gallery {one['gallery']:,}", second(one["seconds"]),
                 f"time per image at {sizes[0]['gallery']:,}", cost / each[0], wanted="growth")
             for one, cost in zip(sizes, each)]
    return found + [memory_row(f"(c) growth, gallery {one['gallery']:,}",
                               one["bytes_beyond_input"], "mapped features", "memory")
                    for one in sizes]


def start_rows(measured: dict[str, Any]) -> list[Row]:
    times = measured["seconds"]
    against = f"python -c 'import numpy': {second(times['numpy'])}"
    return [Row(f"(d) {text}", "", against, times[name], " s", name)
            for name, text in (("help", "reid-ref --help"),
                               ("fixture", "reid-ref evaluate, the fixture"))]


def convention_rows(measured: dict[str, Any]) -> list[Row]:
    times = measured["seconds"]
    return [Row(f"(e) {measured['conventions']} conventions", second(times["all"]),
                f"one convention: {second(times['one'])}", times["all"] / times["one"],
                wanted="conventions"),
            Row("(e) matlab and torchreid, 2048-d features", second(times["both"]),
                f"one after the other: {second(times['matlab'] + times['torchreid'])}",
                times["both"] / (times["matlab"] + times["torchreid"]))]


def memory_row(work: str, beyond: int, over: str, wanted: str = "") -> Row:
    return Row(work, "", f"memory beyond {over}", beyond / MIB, " MiB", wanted)


def second(value: float) -> str:
    return f"{value:.3f} s" if value < 10 else f"{value:.1f} s"


def markdown(found: list[Row]) -> str:
    lines = [HEADER, *(row.cells() for row in found)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    lines.insert(1, tuple("-" * width for width in widths))
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths))
                     + " |" for line in lines)
