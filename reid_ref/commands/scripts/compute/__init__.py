"""What the MATLAB scripts answer of distances, and what their drivers print of features."""
