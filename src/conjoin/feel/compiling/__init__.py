"""A syntax tree into closures. Importing the modules below fills the table of who compiles what."""

from conjoin.feel.compiling import access, calls, loops, operators
from conjoin.feel.compiling.compiler import Compiler, NodeSite

__all__ = ["Compiler", "NodeSite", "access", "calls", "loops", "operators"]
