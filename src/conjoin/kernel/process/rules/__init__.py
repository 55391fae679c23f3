"""The rules of the process half: each file decides one thing, and writes what happened into the step."""
