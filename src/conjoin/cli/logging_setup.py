"""The log of commands that run for long, as the settings say."""

from conjoin.logs import configure
from conjoin.settings import Settings, load


def set_up_logging(settings: Settings | None = None) -> None:
    settings = settings or load()
    configure(settings.log_level, settings.log_format)
