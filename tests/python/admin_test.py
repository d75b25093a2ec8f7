"""Admin: events and problems as they come, and a real server."""
import pathlib
import pickle
import ssl
import tempfile
import unittest

import support  # first

import coterie
from coterie import Admin, AdminError, Client, Code, Policy, SecurityLevel
from coterie._events import Event, EventParser
from coterie._http import target_of

JOB = {"name": "python", "rounds": {"count": 2, "goal_count": 1, "pool_min": 1}, "privacy": {"level": "none"}}


class Parsing(unittest.TestCase):
    def events(self, text, parser=None):
        parser = parser or EventParser()
        return [event for line in text.encode().split(b"\n") if (event := parser.take(line)) is not None]

    def test_events_as_they_come(self):
        text = ': beat\nid: 0-1\nevent: round\ndata: {"a":\ndata:1}\n\nretry: 3\nevent: x\n\nid: 0-2\n\ndata: {}\n\n'
        self.assertEqual(self.events(text), [Event("0-1", "round", {"a": 1}), Event("0-2", "message", {})])

    def test_what_no_server_says_is_refused(self):
        for text in ("data: [1]\n\n", "data: {\n\n", "x" * 70_000, "data: " + "x" * 60_000 + "\n" + ("data: " + "x" * 60_000 + "\n") * 5):
            with self.assertRaises(ValueError):
                self.events(text)
        parser = EventParser("0-7")
        self.events("id: " + "9" * 200 + "\nid: a\x01b\n", parser)
        self.assertEqual(parser.last_id, "0-7")

    def test_an_id_cannot_become_another_route(self):
        self.assertEqual(target_of("jobs/{}", "../tokens?x=1#"), "/admin/v1/jobs/..%2Ftokens%3Fx%3D1%23")
        self.assertEqual(target_of("jobs", state=None, population="a&b"), "/admin/v1/jobs?population=a%26b")

    def test_urls_that_cannot_be_are_refused(self):
        for url in ("http://127.0.0.1:8444", "127.0.0.1:8444", "https://", "https://host/path", "https://user@host", ""):
            with self.assertRaisesRegex(ValueError, "https://host:port"):
                Admin(url, token="t")


class RealServer(support.Folder, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.server = support.Server(pathlib.Path(folder.name))
        cls.addClassCleanup(cls.server.stop)
        cls.admin = Admin.from_data_dir(cls.server.data)

    def create(self, **spec):
        return self.admin.create_job({**JOB, "population": self.id().rsplit("_", 1)[-1], **spec},
                                     model=support.SAMPLES / "mlp.cotf")["id"]

    def test_a_job_from_its_creation_to_its_model(self):
        images, labels = support.learnable()
        job = self.create()
        token = self.admin.create_token(population="model", uses=1, label="one")
        self.assertIn(token["id"], [one["id"] for one in self.admin.tokens()])
        with Client((images, labels), state_dir=self.folder / "state", server_url=self.server.url, ca_file=self.server.ca,
                    enrollment_token=token["token"], policy=Policy(SecurityLevel.NONE)) as client:
            client.start(2)
            kinds = [event.kind for event in self.admin.watch(job)]
            self.assertTrue(client.join(support.PATIENCE_S))
            self.assertEqual(client.rounds_done, 2)
        self.assertEqual(kinds[-1], "over")
        self.assertIn("round_done", kinds)
        self.assertEqual(self.admin.wait(job)["state"], "completed")
        self.assertEqual({one["number"] for one in self.admin.rounds(job) if one["state"] == "done"}, {1, 2})
        why = self.admin.why(job, 2)["attempts"][0]
        self.assertEqual((why["asked"], [(one["code"], one["devices"]) for one in why["codes"]]), (1, [("counted", 1)]))
        phases = [event["name"] for event in self.admin.trace(job, 2)["traceEvents"] if event["ph"] == "X"]
        self.assertIn("finalizing", phases)
        self.assertEqual([one["version"] for one in self.admin.models(job)], [0, 1, 2])
        first, last = self.admin.model(job, 0), self.admin.model(job)
        self.assertLess(last.evaluate((images, labels)).loss, first.evaluate((images, labels)).loss)
        self.assertEqual(self.admin.model_version(job, 2)["bytes"], len(self.admin.download(job)))
        parameters = self.admin.model_parameters(job, 2)
        self.assertEqual(self.admin.model_graph(job, 2)["values"], sum(one["values"] for one in parameters))
        self.assertTrue(all(sum(one["bins"]) == one["read"] for one in parameters))
        self.admin.promote(job, 1)
        self.assertEqual(self.admin.job(job)["released"]["version"], 1)
        self.assertEqual(len(self.admin.devices(population="model")), 1)

    def test_a_device_without_a_policy_refuses_a_job_that_shows_updates(self):
        job, refused = self.create(), []
        with Client(support.learnable(), state_dir=self.folder / "careful", server_url=self.server.url, ca_file=self.server.ca,
                    enrollment_token=self.admin.create_token(population="updates")["token"],
                    on_progress=lambda step: step.status == Code.REFUSED, on_refused=refused.append) as careful:
            careful.run()
        self.assertEqual((refused[0].reason, refused[0].job), ("security_level", job))
        self.admin.cancel(job)

    def test_everything_that_is_wrong_with_a_job_is_said(self):
        with self.assertRaises(AdminError) as caught:
            self.create(rouns=1, privacy={"level": "x"})
        error = caught.exception
        self.assertEqual((error.status, error.code), (400, Code.INVALID_ARGUMENT))
        self.assertLessEqual({"/rouns", "/privacy/level"}, {one["pointer"] for one in error.problem["errors"]})
        self.assertIn("/rouns: unknown key", error.text)
        self.assertEqual(pickle.loads(pickle.dumps(error)).problem, error.problem)
        with self.assertRaises(ValueError):
            self.create(update={"clip_l2": float("nan")})

    def test_the_same_key_is_the_same_job(self):
        spec = {**JOB, "population": "key"}
        ids = {self.admin.create_job(spec, model=support.SAMPLES / "mlp.cotf", key="once")["id"] for _ in range(2)}
        self.assertEqual(len(ids), 1)
        with self.assertRaises(AdminError) as caught:
            self.admin.create_job({**spec, "name": "another"}, model=support.SAMPLES / "mlp.cotf", key="once")
        self.assertEqual(caught.exception.status, 422)
        self.admin.cancel(ids.pop())

    def test_refusals_have_a_code(self):
        for ask, status, code in ((lambda: self.admin.job("../tokens"), 400, Code.MALFORMED),
                                  (lambda: self.admin.job("none"), 404, Code.NOT_FOUND),
                                  (lambda: next(self.admin.watch("none")), 404, Code.NOT_FOUND),
                                  (lambda: self.admin.upload_model(b"nothing"), 400, Code.MALFORMED),
                                  (lambda: self.admin.jobs(state="lost"), 400, Code.INVALID_ARGUMENT)):
            with self.assertRaises(AdminError) as caught:
                ask()
            self.assertEqual((caught.exception.status, caught.exception.code), (status, code))
        stranger = Admin(self.server.admin_url, token="wrong", ca_file=self.server.ca)
        with self.assertRaises(AdminError) as caught:
            stranger.jobs()
        self.assertEqual((caught.exception.status, caught.exception.code), (401, Code.UNAUTHENTICATED))
        self.assertNotIn("wrong", str(caught.exception))

    def test_a_server_that_is_not_known_gets_no_token(self):
        with self.assertRaises(ssl.SSLCertVerificationError):
            Admin(self.server.admin_url, token="secret").jobs()
        with self.assertRaises(ConnectionRefusedError):
            Admin("https://127.0.0.1:1", token="secret", ca_file=self.server.ca).jobs()
        with self.assertRaises(ValueError):
            Admin(self.server.admin_url, token="a\r\nHost: b", ca_file=self.server.ca).jobs()

    def test_jobs_are_paused_resumed_cancelled_and_listed_in_pages(self):
        jobs = [self.create(name=f"job {i}") for i in range(3)]
        self.assertEqual(self.admin.pause(jobs[0])["state"], "paused")
        self.assertEqual(self.admin.resume(jobs[0])["state"], "running")
        connection = self.admin._connection
        paged = connection.pages(target_of("jobs", population="pages", limit=2), "jobs")
        self.assertEqual([one["id"] for one in paged], jobs)
        for job in jobs:
            self.admin.cancel(job)
        self.assertEqual(self.admin.jobs(state="running", population="pages"), [])
        self.assertEqual([event.kind for event in self.admin.watch(jobs[0])][-1], "over")

    def test_tokens_of_people_have_their_roles(self):
        made = self.admin.create_admin_token("a viewer", ["viewer"], valid_seconds=600)
        viewer = Admin(self.server.admin_url, token=made["token"], ca_file=self.server.ca)
        self.assertTrue(viewer.server()["ready"])
        with self.assertRaises(AdminError) as caught:
            viewer.create_token()
        self.assertEqual(caught.exception.code, Code.PERMISSION_DENIED)
        self.assertIn(made["id"], [one["id"] for one in self.admin.admin_tokens()])
        self.admin.delete_admin_token(made["id"])
        with self.assertRaises(AdminError):
            viewer.server()
        enrollment = self.admin.create_token()
        self.admin.delete_token(enrollment["id"])
        self.assertNotIn(enrollment["id"], [one["id"] for one in self.admin.tokens()])

    def test_the_rest_of_the_plane_answers(self):
        self.assertIsInstance(self.admin.ledger(), list)
        self.assertTrue(self.admin.audit())
        self.assertIsInstance(self.admin.privacy_budgets(), dict)
        self.assertIn("coterie", self.admin.metrics())
        self.assertEqual(len(self.admin.nodes()), 1)

    def test_a_data_directory_without_a_server_says_so(self):
        with self.assertRaises(coterie.CoterieError) as caught:
            Admin.from_data_dir(self.folder)
        self.assertEqual(caught.exception.code, Code.NOT_FOUND)
        (self.folder / "endpoints.json").write_text("{}")
        with self.assertRaises(coterie.CoterieError) as caught:
            Admin.from_data_dir(self.folder)
        self.assertEqual(caught.exception.code, Code.MALFORMED)


if __name__ == "__main__":
    unittest.main(verbosity=2)
