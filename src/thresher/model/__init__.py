"""The state of a trained model, and the operations on it."""
