"""What may be deployed but surprises people later: a function for each warning, and a line here.

They are judgements, so each says in its docstring what it looks at. Like a rule, a warning takes any document and
never raises.
"""

from conjoin.bpmn.rule import Rule
from conjoin.bpmn.warnings.flows import endless_locks, starved_joins, unreachable
from conjoin.bpmn.warnings.messages import keyless_messages, left_out, similar_names, two_dialects
from conjoin.bpmn.warnings.parallel_catches import parallel_catches
from conjoin.bpmn.warnings.unset_keys import unset_keys

ON_DEPLOYMENT: tuple[Rule, ...] = (left_out, two_dialects, keyless_messages)
"""How the file was read where it says too little or too much: cheap, so whoever deploys sees them, too."""

WARNINGS: tuple[Rule, ...] = (
    *ON_DEPLOYMENT,
    similar_names,
    unset_keys,
    parallel_catches,
    endless_locks,
    starved_joins,
    unreachable,
)
