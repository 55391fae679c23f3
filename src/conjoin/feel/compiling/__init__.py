"""A syntax tree into closures. Importing the modules below fills the table of who compiles what."""

from conjoin.feel.compiling import calls, loops, nodes
from conjoin.feel.compiling.compiler import Compiler, NodeSite

__all__ = ["Compiler", "NodeSite", "calls", "loops", "nodes"]
