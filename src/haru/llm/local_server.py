"""The child process of `haru.llm.local`: llama.cpp's own server, until standard input ends."""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

CONTEXT_TOKENS = 4096
CACHE_MIB = 64


def main() -> None:
    """Read what to load from standard input, say the address on standard output, wait for the parent's end."""
    xllamacpp: Any = importlib.import_module("xllamacpp")  # it has no types
    wanted = json.loads(sys.stdin.readline())
    parameters = xllamacpp.CommonParams()
    parameters.model.path = wanted["path"]
    parameters.model_alias = wanted["name"]
    parameters.api_keys = [wanted["key"]]
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.cache_ram_mib = CACHE_MIB
    parameters.endpoint_slots = False
    parameters.verbosity = -1
    parameters.sampling.temp = 0.2
    parameters.sampling.penalty_repeat = 1.1
    threads = max((os.cpu_count() or 2) - 1, 1)
    for part in (parameters.cpuparams, parameters.cpuparams_batch):
        part.n_threads = threads
        part.poll = 0  # spinning threads starve everything else on a small machine
    try:
        server = xllamacpp.Server(parameters)
    except RuntimeError as error:
        sys.exit(str(error))
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)  # the native server has no use for a farewell, and may hang on one


if __name__ == "__main__":
    main()
