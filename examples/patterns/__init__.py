"""The message patterns of the Zeebe documents: a model each in `models/`, and scenarios that show what it does."""

from pathlib import Path

HERE = Path(__file__).parent
MODELS = HERE / "models"
