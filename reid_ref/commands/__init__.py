"""The commands of `reid-ref`: one file a command.

Each has `add(commands)`, which describes its arguments and names the function that runs it.
Nothing heavy is imported at the top of these files, so that `--help` answers at once.
"""
