"""The command line: one file a command. It wires the other packages together and is imported by none of them."""
