"""A federated job from Python alone: Admin drives it, Clients on threads of their own take part at level active."""
import unittest

import support  # first

from coterie import Admin, Client, Model, Policy

DEVICES, ROUNDS = 5, 3


class Federated(support.Folder, unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.server = support.Server(self.folder)
        self.addCleanup(self.server.stop)
        self.admin = Admin.from_data_dir(self.server.data)

    def open(self, number, examples, token):
        # Who is in every round may be asked for a second sum of a model, when the first is lost.
        policy = Policy(cohort_min=DEVICES, openings_max=3)
        client = Client(examples, state_dir=self.folder / f"device{number}", server_url=self.server.url, ca_file=self.server.ca,
                        enrollment_token=token, policy=policy, on_refused=lambda refusal: self.refusals.append(refusal.text))
        self.addCleanup(client.close)
        return client

    def test_devices_on_threads_train_a_model_that_nobody_sees_an_update_of(self):
        self.refusals = []
        model = Model.load(support.SAMPLES / "mlp.cotf")
        job = self.admin.create_job(
            {"name": "python", "rounds": {"count": ROUNDS, "goal_count": DEVICES}, "update": {"clip_l2": 10},
             "training": {"local_epochs": 3, "batch_size": 8, "optimizer": {"kind": "sgd", "learning_rate": 0.3}},
             "privacy": {"level": "active", "cohort_min": DEVICES}}, model=model)["id"]
        token = self.admin.create_token(uses=DEVICES)["token"]
        clients = [self.open(i, support.learnable(48, seed=i), token) for i in range(DEVICES)]

        for client in clients:
            client.start()
        rounds_done = 0
        for event in self.admin.watch(job):
            if event.kind != "round_done":
                continue
            rounds_done += 1
            if rounds_done == 1:  # one of them ends, and comes back as the same device
                clients[0].stop()
                key_before = clients[0].identity
                clients[0].close()
                clients[0] = self.open(0, support.learnable(48, seed=0), None)
                self.assertEqual(clients[0].identity, key_before)
                clients[0].start()
        self.assertEqual(self.admin.job(job)["state"], "completed")
        for client in clients:
            client.stop()
            self.assertTrue(client.join())
        self.assertEqual(self.refusals, [])
        self.assertEqual(sum(one["accepted"] for one in self.admin.rounds(job) if one["state"] == "done"), DEVICES * ROUNDS)
        others = support.learnable(90, seed=77)
        self.assertGreater(self.admin.model(job).evaluate(others).accuracy, 0.9)
        self.assertEqual(len(self.admin.devices()), DEVICES)


if __name__ == "__main__":
    unittest.main(verbosity=2)
