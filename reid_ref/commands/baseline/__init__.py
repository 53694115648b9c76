"""`reid-ref baseline`: every line that a MATLAB driver prints."""
