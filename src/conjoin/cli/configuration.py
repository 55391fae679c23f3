"""Sections of the settings that commands use, read: inbox, security, retention, receivers of notices.

Every problem names where its value came from, as those of plain settings do.
"""

import os
from typing import TYPE_CHECKING

from conjoin.errors import SettingsError
from conjoin.settings import load, origin_of

if TYPE_CHECKING:
    from conjoin.gateway.security.configuration import Security
    from conjoin.runtime.inbox.configuration import Configuration
    from conjoin.runtime.notices import Receiver
    from conjoin.runtime.upkeep.retention import KeepFor


def keep_for() -> "KeepFor":
    from conjoin.runtime.upkeep.retention import KeepFor
    from conjoin.times.durations import read_duration_ms

    settings = load()
    kept = (settings.message_retention, settings.instance_retention, settings.log_retention)
    return KeepFor(*map(read_duration_ms, kept))


def inbox_of_settings() -> "Configuration | None":
    """With its targets; None if there is no such section."""
    return None if load().inbox is None else inbox_or_default(with_targets=True)


def inbox_or_default(with_targets: bool) -> "Configuration":
    """Only a process that makes calls needs the targets, and the secrets they name."""
    from conjoin.runtime.inbox.configuration import Configuration, read_configuration, read_inbox

    section = load().inbox or {}
    try:
        return read_configuration(section, os.environ) if with_targets else Configuration(*read_inbox(section), {})
    except SettingsError as error:
        raise SettingsError([f"{origin_of('inbox')}: {problem}" for problem in error.problems]) from None


def security_of_settings() -> "Security":
    from conjoin.gateway.security.configuration import read_security

    try:
        return read_security(load().security)
    except SettingsError as error:
        raise SettingsError([f"{origin_of('security')}: security: {problem}" for problem in error.problems]) from None


def receivers_of_settings() -> "list[Receiver]":
    from conjoin.runtime.notices import read_receivers

    return read_receivers(load().notify)
