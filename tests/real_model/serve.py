"""Serves a small real model on loopback, in OpenAI's chat format: llama.cpp's own HTTP server, out of a wheel.

usage: serve.py MODEL.gguf CONTEXT_TOKENS

Listens on a free port, with a single slot, so that a slot that is not given back is noticed. Prints
`READY http://127.0.0.1:PORT`; ends on SIGTERM, SIGINT, or when its standard input closes, so that it never
outlives the test that started it."""

import os
import signal
import socket
import sys
import threading

import xllamacpp


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    model, context = sys.argv[1], int(sys.argv[2])
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {"smollm2-135m"}
    params.hostnames = ["127.0.0.1"]
    params.port = free_port()
    params.n_ctx = context
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = 2
    params.cpuparams_batch.n_threads = 2
    params.offline = True
    params.verbosity = 1
    server = xllamacpp.Server(params)
    print("READY", server.listening_address, flush=True)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    while not stop.wait(0.5):
        pass
    # The server's own shutdown can wait for a generation; nothing here is worth waiting for.
    os._exit(0)


main()
