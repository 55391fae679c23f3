"""In a worker: the rows of a partition are carried to the kernel in order, and what it says becomes rows."""
