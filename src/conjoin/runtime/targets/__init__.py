"""Remote targets of the inbox: a Camunda 7 or a Camunda 8 that is called over REST.

`RemoteTarget.deliver` makes one call for one message and says what it came to; `read_target` makes a target of what a
configuration says. Which messages are tried, and when again, is not decided here. Invariant: nothing is called
delivered unless the target said so, and nothing is called failed that the target may have.
"""

from conjoin.runtime.targets.calls import HttpLimits
from conjoin.runtime.targets.camunda7 import Camunda7
from conjoin.runtime.targets.camunda8 import Camunda8
from conjoin.runtime.targets.credentials import Credentials, OAuth
from conjoin.runtime.targets.http import HttpCarrier, HttpTls, RemoteTarget, TargetRecipe
from conjoin.runtime.targets.settings import read_target

__all__ = ["Camunda7", "Camunda8", "Credentials", "HttpCarrier", "HttpLimits", "HttpTls", "OAuth", "RemoteTarget"]
__all__ += ["TargetRecipe", "read_target"]
