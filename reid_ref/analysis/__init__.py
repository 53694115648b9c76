"""The answers of the library: what a result is compared with, and why two numbers differ.

Each room has one public function of its name, `reid_ref.compare` and so on. Nothing here prints;
options and screens are in `reid_ref.commands`.
"""
