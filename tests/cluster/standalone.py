"""A standalone cluster of Spark on the loopback address: a master and workers, each a process with its executors."""

import json
import os
import sys
import time
import urllib.request
from pathlib import Path

from conjoin.pipeline.session.java import ensure_java
from tests.cluster.java_servers import LITTLE_JAVA, START_S, JavaServer, free_ports

WORKERS = 2
_DEPLOY = "org.apache.spark.deploy"
# No task begins before all workers are there.
_ALL_OF_THEM = f"--conf spark.cores.max={WORKERS} --conf spark.scheduler.minRegisteredResourcesRatio=1.0"


class Cluster:
    def __init__(self, folder: Path) -> None:
        ensure_java()
        self._folder = folder
        self._port, self._page = free_ports(2)
        self.url = f"spark://127.0.0.1:{self._port}"
        self._workers: list[JavaServer] = []
        self._master = self._start("master.Master", "--port", str(self._port), "--webui-port", str(self._page))
        self._master.await_port(self._port)
        self._master.await_port(self._page)

    def add_worker(self, **environment: str) -> JavaServer:
        """With one core. The environment is that of its executors, too."""
        size = ["--cores", "1", "--memory", "1g", "--work-dir", str(self._folder / "work"), "--webui-port", "0"]
        self._workers.append(self._start("worker.Worker", *size, self.url, **environment))
        self._await_workers()
        return self._workers[-1]

    def clear(self) -> None:
        """So that a job gets those workers that are added from now on."""
        for worker in list(self._workers):
            self.kill(worker)

    def kill(self, worker: JavaServer) -> None:
        worker.kill()
        self._workers.remove(worker)

    def stop(self) -> None:
        for server in (*self._workers, self._master):
            server.kill()

    def _start(self, what: str, *options: str, **environment: str) -> JavaServer:
        import pyspark

        spark = Path(pyspark.__file__).parent
        command = [spark / "bin" / "spark-class", f"{_DEPLOY}.{what}", "--host", "127.0.0.1", *options]
        log = self._folder / f"{what}-{time.monotonic_ns()}"
        return JavaServer(command, log, {**cluster_environment(), **environment})

    def _await_workers(self) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._page}/json/") as page:
                if json.load(page)["aliveworkers"] >= len(self._workers):
                    return
            time.sleep(0.2)
        raise AssertionError(f"a worker did not come:\n{self._workers[-1].said()}")


def cluster_environment() -> dict[str, str]:
    """Of drivers, too: nothing listens beyond this machine, and all run the Python that has conjoin installed."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return inherited | {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"{_ALL_OF_THEM} pyspark-shell",
        "JDK_JAVA_OPTIONS": LITTLE_JAVA[0],
    }
