"""The gates of `reid-ref evaluate`: exit codes for CI."""
