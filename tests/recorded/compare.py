"""Each difference of two recordings: python -m tests.recorded.compare A.json.xz B.json.xz"""
import difflib
import json
import sys

from tests.recorded.record import opened


def parts(recording):
    """Return every answer by its name: what was asked, and which part of the answer it is."""
    found = {f"call {call}": text for call, text in recording.get("calls", {}).items()}
    for line, answer in recording["commands"].items():
        found.update({f"reid-ref {line} [{part}]": str(answer[part])
                      for part in ("exit", "out", "err")})
        found.update({f"reid-ref {line} [file {name}]": text
                      for name, text in answer["files"].items()})
    return found


def legible(text):
    """Return JSON over many lines, any other text as it is."""
    try:
        return json.dumps(json.loads(text), indent=1).splitlines()
    except ValueError:
        return text.splitlines()


def shown(name, before, after):
    """Return a unified diff; of texts that only look alike, of them as Python writes them."""
    old, new = legible(before), legible(after)
    if old == new:
        old, new = [ascii(before)], [ascii(after)]
    return "\n".join(difflib.unified_diff(old, new, f"before: {name}", f"after: {name}",
                                          lineterm="", n=2))


def main():
    recordings = []
    for path in sys.argv[1:]:
        with opened(path, "rt") as file:
            recordings.append(parts(json.load(file)))
    before, after = recordings
    differing = [name for name in before | after if before.get(name) != after.get(name)]
    for name in differing:
        print(shown(name, before.get(name, "(nothing)"), after.get(name, "(nothing)")), "\n")
    print(f"{len(differing)} of {len(before | after)} answers differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
