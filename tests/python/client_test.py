"""Client without a server: what it refuses, what its callbacks do, and its thread."""
import gc
import math
import shutil
import threading
import unittest
import weakref

import support  # first

import numpy as np

import coterie
from coterie import Activity, Client, Code, Conditions, Hold, Policy, Requirements, SecurityLevel

NOBODY = "https://127.0.0.1:1"  # where nobody listens


class Clients(support.Folder, unittest.TestCase):
    def open(self, state="state", **options):
        images, labels = support.learnable(12)
        client = Client((images, labels), **{"state_dir": self.folder / state, "server_url": NOBODY, **options})
        self.addCleanup(client.close)
        return client

    def test_options_that_cannot_be_are_refused(self):
        for options, error, words in (
                ({"server_url": "http://plain.example.org"}, coterie.InvalidArgument, "https://host:port"),
                ({"server_url": None}, TypeError, "server_url is a str"), ({"state_dir": 3}, TypeError, "a path"),
                ({"ca_file": self.folder / "none.pem"}, coterie.CoterieError, "none.pem"),
                ({"seed": -1}, ValueError, "seed"), ({"train_ms_max": 2**32}, ValueError, "train_ms_max"),
                ({"authority_key": b"short"}, ValueError, "5 bytes, it must have 32"),
                ({"certificate": bytes(1025)}, ValueError, "1025 bytes, it must have 1 to 1024"),
                ({"certificate": b""}, ValueError, "0 bytes, it must have 1 to 1024"),
                ({"enrollment_token": "a\0b"}, ValueError, "null"), ({"state_dir": "/dev/null/x"}, coterie.CoterieError, "/dev/null"),
                ({"policy": Policy(delta_max=2)}, coterie.InvalidArgument, "delta_max"),
                ({"policy": Policy(cohort_min=-1)}, ValueError, "cohort_min"),
                ({"policy": Policy(epsilon_round_max=math.nan)}, ValueError, "epsilon_round_max"),
                ({"policy": Policy(corrupt_share_min=0.5)}, coterie.InvalidArgument, "corrupt_share_min"),
                ({"policy": Policy(security_level_min=9)}, ValueError, "SecurityLevel")):
            with self.assertRaisesRegex(error, words, msg=options):
                self.open(**options)
        for wrong in ((np.zeros((2, 16)), [0]), None):
            with self.assertRaises((TypeError, ValueError)):
                Client(wrong, state_dir=self.folder / "state", server_url=NOBODY)

    def test_members_of_a_policy_reach_the_library(self):
        struct = Policy(SecurityLevel.MASKED, 50, 1.5, math.inf, 1e-6, 3, 0.2, 4, 2)._struct()
        self.assertEqual([getattr(struct, name) for name, _ in struct._fields_[1:]], [1, 50, 1.5, math.inf, 1e-6, 3, 0.2, 4, 0, 2, 0])
        self.assertEqual(Policy(accepts_analytics=True)._struct().accepts_analytics, 1)
        self.assertEqual(Policy()._struct().accepts_none, 0)
        said = Policy(SecurityLevel.NONE)._struct()
        self.assertEqual((said.security_level_min, said.accepts_none), (0, 1))

    def test_conditions_and_requirements_reach_the_library(self):
        asked = Requirements(charging=True, battery_percent_min=20, thermal_max=coterie.Thermal.FAIR, watts=2.5)._struct()
        self.assertEqual([getattr(asked, name) for name, _ in asked._fields_[1:]], [0, 1, 0, 0, 0, 20, 2, 0, 0, 0, 0, 0, 2.5, 0, 0])
        said = Conditions(idle=False, charging=True, battery_percent=80, free_memory_bytes=5)._struct()
        self.assertEqual([getattr(said, name) for name, _ in said._fields_[1:]], [1, 2, 0, 0, 80, 0, 5])
        with self.assertRaises(ValueError):
            Requirements(cpu_seconds_per_day=math.inf)._struct()

    def test_a_client_is_held_back_until_what_is_required_is_so(self):
        seen = []

        def on_progress(step):
            seen.append((step.activity, step.hold))
            if step.activity == Activity.HELD:
                client.set_conditions(Conditions(charging=True))
            return step.activity != Activity.HELD

        client = self.open(enrollment_token="cot_x", requirements=Requirements(charging=True), on_progress=on_progress)
        client.run()
        self.assertEqual(seen, [(Activity.HELD, Hold.CHARGING), (Activity.ENROLLED, Hold.NONE)])
        with self.assertRaises(coterie.CoterieError):
            client.set_conditions(Conditions(battery_percent=101))

    def test_a_group_is_one_of_eight_or_none(self):
        for group in (0, 1, 8):
            self.open(f"in-{group}", group=group).close()
        with self.assertRaises(coterie.CoterieError) as caught:
            self.open("beyond", group=9)
        self.assertEqual(caught.exception.code, Code.INVALID_ARGUMENT)

    def test_one_client_a_directory(self):
        first = self.open()
        with self.assertRaises(coterie.CoterieError) as caught:
            self.open()
        self.assertEqual(caught.exception.code, Code.CONFLICT)
        key = first.identity
        self.assertEqual((key.key_algorithm, len(key.public_key)), ("ed25519", 32))
        first.close()
        self.assertEqual(self.open().identity, key)
        self.assertEqual(len(self.open("other", use_p256=True).identity.public_key), 65)

    def test_a_server_that_is_away_is_progress_and_no_error(self):
        seen = []
        client = self.open(enrollment_token="cot_x", on_progress=lambda step: seen.append(step) or len(seen) == 2)
        client.run()
        self.assertEqual(seen[0].activity, Activity.ENROLLED)
        self.assertEqual(seen[0].status, Code.UNAVAILABLE)
        self.assertIn("127.0.0.1:1", seen[0].text)
        self.assertEqual(client.last_error, seen[0].text)

    def test_a_device_that_cannot_go_on_says_why(self):
        client = self.open()  # it has no token
        with self.assertRaises(coterie.CoterieError) as caught:
            client.run()
        self.assertIn("token", caught.exception.text)
        self.assertTrue(client.join())  # it was said once

    def test_what_a_callback_raises_comes_out_of_join(self):
        client = self.open(enrollment_token="cot_x", on_progress=lambda step: 1 / 0)
        client.start()
        with self.assertRaises(ZeroDivisionError):
            client.join()
        self.assertFalse(client.running)

    def test_a_refused_plan_is_told(self):
        seen = []
        shutil.copytree(support.SAMPLES / "refusing", self.folder / "refusing")
        client = self.open("refusing", on_refused=seen.append, on_progress=lambda step: bool(seen))
        client.run()
        self.assertEqual((seen[0].reason, seen[0].security_level, seen[0].cohort_min, seen[0].job),
                         ("security_level", SecurityLevel.MASKED, 7, "masked"))
        self.assertIn("level", seen[0].text)

    def test_what_on_refused_raises_comes_out(self):
        shutil.copytree(support.SAMPLES / "refusing", self.folder / "refusing")
        client = self.open("refusing", on_refused=lambda refusal: {}["none"])
        with self.assertRaises(KeyError):
            client.run()

    def test_a_certificate_is_taken_or_refused(self):
        shutil.copytree(support.SAMPLES / "certified" / "state", self.folder / "certified")
        authority, certificate = ((support.SAMPLES / "certified" / name).read_bytes() for name in ("authority", "certificate"))
        with self.assertRaises(coterie.InvalidArgument):
            self.open("certified", authority_key=authority, certificate=bytes(64))
        self.open("certified", authority_key=authority, certificate=certificate)

    def test_stops_at_once_and_for_good(self):
        waits = threading.Event()
        client = self.open(enrollment_token="cot_x", on_progress=lambda step: waits.set())
        client.start()
        self.assertTrue(waits.wait(support.PATIENCE_S))
        with self.assertRaisesRegex(RuntimeError, "runs already"):
            client.start()
        with self.assertRaisesRegex(RuntimeError, "the client runs"):
            client.identity
        self.assertFalse(client.join(0))
        client.stop()
        self.assertFalse(client.running)
        self.assertTrue(client.join())
        client.start()  # ends at once
        self.assertTrue(client.join(support.PATIENCE_S))

    def test_a_callback_may_stop_but_neither_close_nor_wait(self):
        for reach in (lambda client: client.close(), lambda client: client.join()):
            client = self.open(enrollment_token="cot_x", on_progress=lambda step: reach(client))
            with self.assertRaisesRegex(RuntimeError, "a callback cannot"):
                client.run()
            client.close()
        client = self.open(enrollment_token="cot_x", on_progress=lambda step: client.stop())
        client.run()

    def test_closed_is_closed(self):
        client = self.open(enrollment_token="cot_x")
        client.start()
        source = client._thread.source
        client.close()
        client.close()
        self.assertEqual(source.readers, 0)
        self.assertIn("closed", repr(client))
        for use in (client.start, lambda: client.identity):
            with self.assertRaisesRegex(coterie.ClosedError, "the client is closed"):
                use()
        client.stop()

    def test_one_that_nobody_has_is_stopped(self):
        client = self.open(enrollment_token="cot_x")
        self.doCleanups.__self__._cleanups.pop()  # which has it
        client.start()
        thread, watched = client._thread, weakref.ref(client)
        del client
        gc.collect()
        self.assertIsNone(watched())
        self.assertTrue(thread.closed)
        self.assertFalse(thread.running)


if __name__ == "__main__":
    unittest.main(verbosity=2)
