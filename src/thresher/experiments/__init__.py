"""The paper's tables and claims, one file each, run beside the published figures; only the command line imports it."""
