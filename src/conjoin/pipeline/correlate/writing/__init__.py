"""Tables become files: the workers write them beside the folder's tables, and one commit makes all of them appear."""
