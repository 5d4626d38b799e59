"""The journal of corrections, and the model that learns from it."""
