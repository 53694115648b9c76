"""Other evaluators test themselves, and this installation is tested."""
