#!/usr/bin/env python3
"""examples/kubernetes against Kubernetes' schema, and as its pods would run it, here:
usage: kubernetes_test.py FRAMEWIRE PICTURE.JPG WORK_DIR [TEST…]

Needs kubernetes-validate from PyPI, which has the schemas; without it this says SKIPPED and ends with 77.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import time

import support

support.use_packages()
try:
    import kubernetes_validate
    import yaml
except ImportError:
    print("SKIPPED: there is no kubernetes-validate")
    sys.exit(support.SKIPPED)

FILE = pathlib.Path(__file__).resolve().parents[2] / "examples/kubernetes/indexed-job.yaml"
#: The first that has backoffLimitPerIndex as a stable field.
OLDEST = "1.33"


class IndexedJob(support.Case):
    def setUp(self):
        super().setUp()
        self.job = yaml.safe_load(FILE.read_text())
        self.spec = self.job["spec"]
        (self.container,) = self.spec["template"]["spec"]["containers"]
        self.env = {entry["name"]: entry["value"] for entry in self.container["env"]}

    def test_it_fits_the_schema(self):
        for version in (OLDEST, kubernetes_validate.latest_version()):
            used = kubernetes_validate.validate(self.job, version, strict=True)
            self.assertTrue(version.startswith(used), f"the schema of {used} in place of {version}")
            wrong = yaml.safe_load(FILE.read_text())
            wrong["spec"]["completion"] = 3
            with self.assertRaises(kubernetes_validate.ValidationError):
                kubernetes_validate.validate(wrong, version, strict=True)

    def test_numbers_agree(self):
        self.assertEqual(self.spec["completionMode"], "Indexed")
        self.assertEqual(str(self.spec["completions"]), self.env["FRAMEWIRE_SHARD_COUNT"])
        self.assertEqual(self.spec["completions"], self.spec["parallelism"])
        names = [rule["onExitCodes"]["containerName"] for rule in self.spec["podFailurePolicy"]["rules"]
                 if "onExitCodes" in rule]
        self.assertEqual(names, [self.container["name"]])
        mounts = {mount["name"] for mount in self.container["volumeMounts"]}
        self.assertEqual(mounts, {volume["name"] for volume in self.spec["template"]["spec"]["volumes"]})

    def make_shards(self, count):
        for i in range(count):
            self.write(f"data/in/{i}.jpg", self.small_picture(1200 + 8 * (i % 5)))
            with tarfile.open(self.folder / f"data/in/train-{i:06}.tar", "w") as shard:
                for j in range(5):
                    shard.add(self.folder / f"data/in/{i}.jpg", arcname=f"{i}-{j}.jpg")

    def start_pod(self, index, **variables):
        """The container's command, with a folder here in place of its volume."""
        programs = self.folder / "bin"
        programs.mkdir(exist_ok=True)
        if not (programs / "framewire").exists():
            (programs / "framewire").symlink_to(self.program)
        words = self.container["command"] + self.container["args"]
        environment = {**self.env, **variables, "JOB_COMPLETION_INDEX": str(index),
                       "PATH": f"{programs}:{os.environ['PATH']}"}
        environment = {name: value.replace("/data/", f"{self.folder}/data/")
                       for name, value in environment.items()}
        return subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True,
                                start_new_session=True)

    def finish(self, pod, code):
        _, said = pod.communicate(timeout=120)
        self.assertEqual(pod.returncode, code, said)
        return said

    def test_pods_do_everything_once_though_one_is_killed(self):
        self.make_shards(6)
        shards = "/data/in/train-{000000..000005}.tar"
        count = {"FRAMEWIRE_SHARD_COUNT": "3", "SHARDS": shards}
        self.batch("data/in/train-{000000..000005}.tar", "alone", "--size", "512x512")
        first = self.start_pod(0, **count)
        out = self.folder / "data/out"
        while first.poll() is None and not list(out.glob("*.tar")):
            time.sleep(0.001)
        with contextlib.suppress(ProcessLookupError):  # where it was quicker than this
            os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
        for index in range(3):
            said = self.finish(self.start_pod(index, **count), 0)
            self.assertIn('"event":"end"', said)
        tars = lambda name: {path: content for path, content in self.tree(name).items()
                             if path.endswith(".tar")}
        self.assert_same(tars("data/out"), tars("alone"))
        self.run_program("report", "data/out", "data/in/train-{000000..000005}.tar")

    def test_what_fails_for_good_is_no_reason_to_run_again(self):
        self.make_shards(1)
        with tarfile.open(self.folder / "data/in/train-000001.tar", "w") as shard:
            shard.add(FILE, arcname="1.jpg")
        count = {"FRAMEWIRE_SHARD_COUNT": "1", "SHARDS": "/data/in/train-{000000..000001}.tar"}
        self.finish(self.start_pod(0, **count), 0)
        self.run_program("report", "data/out", code=1)
        # An index beyond the parts is a fault of the job, which FailJob ends.
        self.finish(self.start_pod(5, **count), 2)


if __name__ == "__main__":
    support.main(__doc__)
