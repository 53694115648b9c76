"""Verification: thresholds of a distance, with TAR at FAR, EER and DIR at FAR."""
