"""`reid-ref scripts`: the MATLAB scripts, their port and their drivers."""
