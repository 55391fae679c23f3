"""Wheels: with the compiled modules where they can be made, otherwise (or with `CONJOIN_PURE=1`) for any Python."""

import os
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledWheel(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # An editable installation finds them where `python -m compiling` leaves them.
        if version == "editable" or os.environ.get("CONJOIN_PURE"):
            return
        sys.path.insert(0, self.root)
        from compiling.building import ABI, TARGET, NotCompiledError, build, is_up_to_date

        try:
            if not is_up_to_date():
                build()
        except NotCompiledError as why:
            self.app.display_warning(f"not compiled: {why}; the wheel is pure Python")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"][str(TARGET)] = f"conjoin/_compiled/{ABI}"
