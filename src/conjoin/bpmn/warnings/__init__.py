"""What may be deployed but surprises people later: one warning, one file, and a line here.

They are judgements, so each says in its docstring what it looks at. Like a rule, a warning takes any document, yields
problems and never raises.
"""

from conjoin.bpmn.rules import Rule
from conjoin.bpmn.warnings.endless_locks import endless_locks
from conjoin.bpmn.warnings.keyless_messages import keyless_messages
from conjoin.bpmn.warnings.left_out import left_out
from conjoin.bpmn.warnings.parallel_catches import parallel_catches
from conjoin.bpmn.warnings.similar_names import similar_names
from conjoin.bpmn.warnings.starved_joins import starved_joins
from conjoin.bpmn.warnings.two_dialects import two_dialects
from conjoin.bpmn.warnings.unreachable import unreachable
from conjoin.bpmn.warnings.unset_keys import unset_keys

ON_DEPLOYMENT: tuple[Rule, ...] = (
    left_out,
    two_dialects,
    keyless_messages,
)
"""How the file was read where it says too little or too much: cheap, so whoever deploys is told, too."""

WARNINGS: tuple[Rule, ...] = (
    *ON_DEPLOYMENT,
    similar_names,
    unset_keys,
    parallel_catches,
    endless_locks,
    starved_joins,
    unreachable,
)
