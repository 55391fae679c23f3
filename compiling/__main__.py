"""`python -m compiling`: one line says what came of it; it is never an error that nothing could be compiled."""

import os
import time

from compiling.building import NotCompiledError, build, is_up_to_date


def main() -> None:
    if is_up_to_date():
        return
    began = time.monotonic()
    try:
        count = build()
        print(f"compiled: {count} modules in {time.monotonic() - began:.0f} s", flush=True)
    except NotCompiledError as why:
        print(f"not compiled: {why}; runs as it is", flush=True)


if __name__ == "__main__":
    main()
    # Taking apart what mypy has built in memory takes seconds, for nothing.
    os._exit(0)
