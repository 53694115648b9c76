"""What code that is not ours takes, returns and breaks."""
