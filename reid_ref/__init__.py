"""reid-ref: the reference evaluator of person re-identification.

``reid_ref.read(FILE).evaluate()`` gives mAP, Rank-k and mINP of a result file; ``evaluate`` and
`Labels` take arrays. Distance: smaller is nearer. Importing this package starts nothing and loads
nothing, not even numpy: public names, and the modules that a user may name (`reid_ref.matlab`,
`reid_ref.datasets` ...), load on first use. All are in `__init__.pyi`.
"""
#: Module and name there of each name here, and the names of modules: empty until one is used.
_SOURCES: dict[str, tuple[str, str]] = {}
_ROOMS: list[str] = []


def _read_names() -> None:
    import ast

    public: list[str] = []
    for node in ast.parse(__loader__.get_data(f"{__path__[0]}/__init__.pyi")).body:
        if isinstance(node, ast.ImportFrom):
            for name in node.names:
                _SOURCES[name.asname or name.name] = node.module, name.name
        elif isinstance(node, ast.Assign):
            public = ast.literal_eval(node.value)
    _ROOMS.extend(name for name in _SOURCES if name not in public)
    globals()["__all__"] = public


def __getattr__(name: str) -> object:
    from importlib import import_module

    if not _SOURCES:
        _read_names()
    if name == "__all__":
        return globals()[name]
    if name not in _SOURCES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _SOURCES[name]
    if name in _ROOMS:
        return import_module(f"{module}.{attribute}")
    value: object = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    if not _SOURCES:
        _read_names()
    return sorted({*globals(), *_SOURCES})
