"""Documents as sparse rows: validation, labels, folds, and rows in temporary files."""
