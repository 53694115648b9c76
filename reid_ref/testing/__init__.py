"""The kit by which other evaluators test themselves."""
