"""Codes in words: reasons of verdicts, incidents, dead letters and errors, as people read them.

A code that is not listed is shown as it is, without its underscores.
"""

REASONS = {
    "waiting_instance": "an instance waited for it",
    "waiting_instance_later": "an instance waited for it later",
    "started_instance": "it started an instance",
    "started_after_lock": "it started an instance once the key was free",
    "given_back_and_taken": "one gave it back, another took it",
    "handed_over": "handed over to its target",
    "nobody_waits": "nobody waits for it yet",
    "locked": "its key is held by an instance",
    "taken_by_process": "its process has it already",
    "given_back": "who was offered it gave it back",
    "busy": "who waits for it is busy",
    "nobody_waited": "nobody waited before its time was up",
    "was_locked": "its key was held until its time was up",
    "never_offered": "never offered before its time was up",
    "ttl_zero": "nobody waited, and it had no time to live",
    "policy": "the policy of its name keeps none",
    "deleted": "deleted by an operator",
    "duplicate_id": "its id is known already",
    "not_found": "nobody waits for it",
    "ambiguous": "several wait for it",
    "invalid": "it is not valid",
    "forbidden": "its sender may not send it",
    "wrong_tenant": "it is for another tenant",
    "fewer_than_expected": "fewer took it than expected",
    "in_backoff": "waits before it is retried",
    "in_grace": "in its time of grace",
    "paused": "paused by an operator",
    "not_due": "not due yet",
    "attempts_exhausted": "all attempts are used up",
    "held": "retrying would be of no use",
    "target_error": "its target refused it",
    "mapping_error": "it could not be mapped",
    "decode_error": "its payload could not be read",
}
INCIDENTS = {
    "EXTRACT_VALUE_ERROR": "A value is missing or wrong",
    "CONDITION_ERROR": "A condition has no answer",
    "IO_MAPPING_ERROR": "A variable could not be mapped",
    "JOB_NO_RETRIES": "A job failed too often",
    "UNHANDLED_ERROR_EVENT": "An error that nobody catches",
    "CALLED_ELEMENT_ERROR": "The called process cannot start",
    "DUPLICATE_SUBSCRIPTION": "Another waits with the same key",
}
DEAD_LETTERS = {
    "unreadable": "it cannot be read",
    "missing_name": "it has no message name",
    "missing_time": "it has no time",
    "bad_type": "a field has the wrong type",
    "bad_time": "its time cannot be read",
    "bad_variables": "its variables are no object",
    "too_large": "it is too large",
    "bad_ttl": "its time to live cannot be read",
    "duplicate_position": "its position is there twice",
    "late": "it came too late",
    "unknown_tenant": "its tenant is not known",
    "not_carried_out": "it could not be carried out",
}
JOBS = {
    "ready": "waits for a worker",
    "activated": "with a worker",
    "backing_off": "waits before it is retried",
    "failed": "failed, no retries left",
    "error_thrown": "ended with an error",
}
_ALL = {**DEAD_LETTERS, **JOBS, **INCIDENTS, **REASONS}


def in_words(code: str) -> str:
    return _ALL.get(code) or code.replace("_", " ").lower()
