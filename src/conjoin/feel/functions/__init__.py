"""The built-in functions: one file an area, each with its table; here they are put together.

To add a function, write a row into the table of its area.
"""

from conjoin.feel.functions.boolean import BOOLEAN
from conjoin.feel.functions.contexts import CONTEXTS
from conjoin.feel.functions.conversion import CLOCK_FUNCTIONS, CONVERSION
from conjoin.feel.functions.lists import LISTS
from conjoin.feel.functions.numeric import NUMERIC
from conjoin.feel.functions.ranges import RANGES
from conjoin.feel.functions.signatures import Overload
from conjoin.feel.functions.strings import STRINGS

FUNCTIONS: dict[str, tuple[Overload, ...]] = BOOLEAN | STRINGS | NUMERIC | LISTS | CONTEXTS | RANGES | CONVERSION

REFUSED_FUNCTIONS: dict[str, str] = {
    "random number": "an expression gives the same value whenever a command is replayed",
    "uuid": "an expression gives the same value whenever a command is replayed",
}
"""What Camunda has and we do not, and why."""

FUNCTION_NAMES = frozenset((*FUNCTIONS, *CLOCK_FUNCTIONS, *REFUSED_FUNCTIONS))
