"""A manual or undefined task: nobody outside does anything, the token passes."""

from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.rules.entering import pass_through

BEHAVIOUR = Behaviour(pass_through)
