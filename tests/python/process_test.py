"""Whole processes: a real ^C, the interpreter's end, fork."""
import os
import signal
import subprocess
import sys
import unittest

import support  # first

PRELUDE = """
import os, signal, sys, threading
import numpy as np
import coterie
samples, folder = sys.argv[1:]
model = coterie.Model.load(samples + "/mlp.cotf")
images, labels = np.random.default_rng(0).random((96, 16), np.float32), np.arange(96) % 3
def say(word):
    print(word, flush=True)
"""


class Processes(support.Folder, unittest.TestCase):
    def start(self, code):
        environment = {**os.environ, **support.SANITIZER}
        process = subprocess.Popen([sys.executable, "-B", "-c", PRELUDE + code, support.SAMPLES, self.folder], env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def finish(self, code):
        process = self.start(code)
        out, err = process.communicate(timeout=support.PATIENCE_S)
        self.assertEqual((process.returncode, err), (0, ""))
        return out.split()

    def interrupt(self, code):
        """The code says "ready" when it is to be interrupted; what it says behind that."""
        process = self.start(code)
        self.assertEqual(process.stdout.readline(), "ready\n", process.poll())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=support.PATIENCE_S)
        self.assertEqual((process.returncode, err), (0, ""))
        return out.split()

    def test_an_interrupt_ends_a_training_and_leaves_a_checkpoint(self):
        self.assertEqual(self.interrupt("""
try:
    model.train((images, labels), epochs=2**31, checkpoint=folder + "/checkpoint",
                on_step=lambda progress: say("ready") if progress.steps == 3 else None)
except KeyboardInterrupt:
    say("interrupted")
"""), ["interrupted"])
        self.assertTrue((self.folder / "checkpoint").exists())

    def test_an_interrupt_ends_an_evaluation(self):
        self.assertEqual(self.interrupt("""
many = np.tile(images, (20000, 1)), np.tile(labels, 20000)
data = coterie.Dataset.from_numpy(*many)
try:
    say("ready")
    while True:
        model.evaluate(data)
except KeyboardInterrupt:
    say("interrupted")
"""), ["interrupted"])

    def test_an_interrupt_stops_a_client(self):
        self.assertEqual(self.interrupt("""
said = []
def once(step):
    if step.activity == 2 and not said:
        said.append(step)
        say("ready")
client = coterie.Client((images, labels), state_dir=folder + "/state", server_url="https://127.0.0.1:1",
                        enrollment_token="cot_x", on_progress=once)
try:
    client.run()
except KeyboardInterrupt:
    say(client.running)
"""), ["False"])

    def test_the_interpreter_ends_though_everything_is_open(self):
        self.assertEqual(self.finish("""
entered = threading.Event()
client = coterie.Client((images, labels), state_dir=folder + "/state", server_url="https://127.0.0.1:1",
                        enrollment_token="cot_x", on_progress=lambda step: entered.set())
client.start()
entered.wait()
trainer = coterie.Trainer(model, coterie.Dataset.open(samples + "/images.cotf"))
trainer.step()
cycle = [client, trainer, model]
cycle.append(cycle)
say("end")
"""), ["end"])

    def test_a_child_closes_nothing_of_its_parent(self):
        self.assertEqual(self.finish("""
data = coterie.Dataset.open(samples + "/images.cotf")
trainer = coterie.Trainer(model, data)
client = coterie.Client((images, labels), state_dir=folder + "/state", server_url="https://127.0.0.1:1")
child = os.fork()
if child == 0:
    del trainer, client, data, model
    import gc; gc.collect()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
say(trainer.step().steps)
say(len(client.identity.public_key))
"""), ["1", "32"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
