"""The pages of the console, one file each."""
