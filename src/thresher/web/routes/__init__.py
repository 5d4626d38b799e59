"""The routes of the service, a file for each of its subjects; `app` adds them all."""
