"""Every error that Conjoin raises: the world failed, or what was handed in cannot be used.

    ConjoinError
    ├── SettingsError    settings      a setting is unknown or has a value that cannot be
    ├── ExtraMissing     extra         an optional part of the installation is needed
    ├── JavaMissing      java          Spark needs a Java that is not to be found
    ├── SparkFailed      spark         Spark could not start, or a job of it failed
    ├── RegistryFailed   registry_failed the schema registry does not answer, or refuses
    ├── InputError       input         the input cannot be read as what it should be
    ├── ModelError       model         a BPMN model cannot be run as it is
    ├── PolicyError      policy        policies that contradict each other
    ├── TooMuchFollows   too_much      what follows from a request is more than is allowed; nothing of it is done
    │   ├── EndlessRequest   endless       it does not come to an end
    │   └── InstanceTooLarge instance_too_large an instance would hold more than is allowed
    ├── StoreMissing     store_missing there is no store where one should be
    ├── StoreExists      store_exists  there is a store where a new one should be made
    ├── StoreTooNew      store_too_new the store was written by a newer Conjoin
    ├── StoreInUse       store_in_use  other processes work on the store, and this must not run beside them
    ├── StoreUnfinished  store_unfinished a restore or reshard into this store was interrupted
    ├── StoreDamaged     store_damaged what the store holds cannot be read any more
    ├── StoreFailed      store_failed  the store does not answer, is full or is busy; the request is not carried out
    │   └── ReadStopped      read_stopped  a reading of the store took too long, or nobody waits for it any more
    ├── OutcomeUnknown   outcome_unknown whether the request was carried out cannot be known now
    └── CallFailed       error         a server did not carry out a call of a client; those below have its code
        ├── NoAnswer         UNAVAILABLE         no server, no connection, no time left; perhaps it was done
        ├── ServerBusy       RESOURCE_EXHAUSTED  it has too much to do, or its store does not answer
        ├── CallInvalid      INVALID_ARGUMENT    the request makes no sense
        ├── NotAllowed       FORBIDDEN           the caller is not known, or may not
        ├── NotFound         NOT_FOUND           no such record; nobody who waits for a message
        ├── AlreadyThere     ALREADY_EXISTS      the id is taken
        ├── WrongState       INVALID_STATE       the state of a record forbids it
        ├── TookTooLong      DEADLINE_EXCEEDED   what was waited for has not happened in time
        └── NotOffered       UNIMPLEMENTED       the server has no such call

The second column is `code`; `retryable` says whether the same call may succeed later by itself. A business
"no" is no error: it is a verdict, stored and explained, never raised.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


class ConjoinError(Exception):
    """The root: catch this one to catch all."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False


MOST_PROBLEMS = 100
"""So many are listed. A client may send more than anybody reads, and the answer would be many times its request."""


class _ListedError(ConjoinError):
    """Collects everything that is wrong, so that all of it can be fixed in one go."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems[:MOST_PROBLEMS])
        if len(problems) > MOST_PROBLEMS:
            self.problems.append(f"there is more that is wrong: these are the first {MOST_PROBLEMS}")
        # The list itself is the argument, so that the error survives pickling between processes.
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(self.problems)


class SettingsError(_ListedError):
    code = "settings"


class ExtraMissing(ConjoinError):  # noqa: N818 - the name says what is the matter
    """Names the feature, what it needs, and the extra that brings it."""

    code = "extra"

    def __init__(self, feature: str, needed: str, extra: str) -> None:
        self.feature, self.needed, self.extra = feature, needed, extra
        super().__init__(feature, needed, extra)

    def __str__(self) -> str:
        return f"{self.feature} needs {self.needed}: pip install 'conjoin[{self.extra}]'"


class JavaMissing(ConjoinError):  # noqa: N818 - the name says what is the matter
    code = "java"


class SparkFailed(ConjoinError):  # noqa: N818 - the name says what is the matter
    """Its text begins with Spark's own words."""

    code = "spark"
    retryable = True


class RegistryFailed(ConjoinError):  # noqa: N818 - the name says what is the matter
    """Nothing of what needs it was done, so it can be retried."""

    code = "registry_failed"
    retryable = True


class InputError(_ListedError):
    code = "input"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a model, or that will surprise its author, and what to do about it."""

    file: str
    line: int
    element: str
    """The id of the element; empty where the file itself is meant."""
    rule: str
    text: str
    advice: str

    def __str__(self) -> str:
        element = f"'{self.element}': " if self.element else ""
        return f"{self.file}:{self.line}: {element}{self.text}. {self.advice}"


class ModelError(ConjoinError):
    """Everything that keeps a model from being run, in the order of its lines."""

    code = "model"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class PolicyError(_ListedError):
    code = "policy"


class TooMuchFollows(ConjoinError):  # noqa: N818 - the name says what is the matter
    """It is the fault of the request: a retry does not help."""

    code = "too_much"


class EndlessRequest(TooMuchFollows):
    """How many steps were taken before it was given up, and what else they had come to."""

    code = "endless"

    def __init__(self, steps: int, measure: str = "") -> None:
        self.steps, self.measure = steps, measure
        super().__init__(steps, measure)

    def __str__(self) -> str:
        measure = f" and {self.measure}" if self.measure else ""
        return (
            f"what follows from this request has no end in sight after {self.steps:,} steps{measure}, so nothing of it"
            " is done: a model goes round and round or calls itself without waiting, a loop is too large, or a kept"
            " message with cardinality=all is taken again by each round of a loop"
        )


class InstanceTooLarge(TooMuchFollows):
    """The key of the instance, how many bytes it would have, and how many are allowed."""

    code = "instance_too_large"

    def __init__(self, key: int, size: int, most: int) -> None:
        self.key, self.size, self.most = key, size, most
        super().__init__(key, size, most)

    def __str__(self) -> str:
        return (
            f"instance {self.key} would hold {self.size:,} bytes, and {self.most:,} are allowed for its variables and"
            " elements together, so nothing of this request is done: keep large values elsewhere, and a reference"
            " to them in the variables"
        )


class StoreMissing(ConjoinError):  # noqa: N818 - the name says what is the matter
    code = "store_missing"


class StoreExists(ConjoinError):  # noqa: N818 - the name says what is the matter
    code = "store_exists"


class StoreTooNew(ConjoinError):  # noqa: N818 - the name says what is the matter
    """Where the store is, the version of its schema, and the newest that this Conjoin knows."""

    code = "store_too_new"

    def __init__(self, address: str, found: int, known: int) -> None:
        self.address, self.found, self.known = address, found, known
        super().__init__(address, found, known)

    def __str__(self) -> str:
        return (
            f"{self.address} has schema version {self.found}, and this Conjoin knows {self.known} at most:"
            " open it with a Conjoin at least as new as the one that wrote it"
        )


class StoreInUse(ConjoinError):  # noqa: N818 - the name says what is the matter
    """Where the store is, who works on it, and what to do."""

    code = "store_in_use"


class StoreUnfinished(ConjoinError):  # noqa: N818 - the name says what is the matter
    """Where the store is, and what was filling it."""

    code = "store_unfinished"

    def __init__(self, address: str, task: str) -> None:
        self.address, self.task = address, task
        super().__init__(address, task)

    def __str__(self) -> str:
        return (
            f"{self.address} is only half made: '{self.task}' was interrupted while it filled it, or still runs."
            " Remove it (delete the folder, or drop the database) and run that command again; its source is unchanged"
        )


class StoreDamaged(ConjoinError):  # noqa: N818 - the name says what is the matter
    """Where the damage is, and how it was noticed."""

    code = "store_damaged"

    def __init__(self, address: str, sign: str) -> None:
        self.address, self.sign = address, sign
        super().__init__(address, sign)

    def __str__(self) -> str:
        return f"{self.address} is damaged ({self.sign}): restore the store from a backup with conjoin store restore"


class StoreFailed(ConjoinError):  # noqa: N818 - the name says what is the matter
    """Nothing of the request was carried out, so it can be retried."""

    code = "store_failed"
    retryable = True


class ReadStopped(StoreFailed):
    code = "read_stopped"


class OutcomeUnknown(ConjoinError):  # noqa: N818 - the name says what is the matter
    """What went wrong. Done or not done: only a message with an id can be sent again without a second look."""

    code = "outcome_unknown"

    def __init__(self, cause: str) -> None:
        self.cause = cause
        super().__init__(cause)

    def __str__(self) -> str:
        return (
            f"{self.cause}; whether this was done is not known: look before you do it again,"
            " or send the message again with the same id"
        )


class CallFailed(ConjoinError):  # noqa: N818 - the name says what is the matter
    """What the call was for, and the status and the reason that the server gave (0 and none without an answer)."""

    def __init__(self, call: str, sentence: str, reason: str = "", status: int = 0) -> None:
        self.call, self.sentence, self.reason, self.status = call, sentence, reason, status
        super().__init__(call, sentence, reason, status)

    def __str__(self) -> str:
        return f"{self.call}: {self.sentence}"


class NoAnswer(CallFailed):
    code = "UNAVAILABLE"
    retryable = True


class ServerBusy(CallFailed):
    code = "RESOURCE_EXHAUSTED"
    retryable = True


class CallInvalid(CallFailed):
    code = "INVALID_ARGUMENT"


class NotAllowed(CallFailed):
    code = "FORBIDDEN"


class NotFound(CallFailed):
    code = "NOT_FOUND"


class AlreadyThere(CallFailed):
    code = "ALREADY_EXISTS"


class WrongState(CallFailed):
    code = "INVALID_STATE"


class TookTooLong(CallFailed):
    code = "DEADLINE_EXCEEDED"


class NotOffered(CallFailed):
    code = "UNIMPLEMENTED"
