"""`reid-ref report`: one HTML page of a result file, or of several."""
