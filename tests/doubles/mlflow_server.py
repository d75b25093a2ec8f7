#!/usr/bin/env python3
"""A tracking server of MLflow for tests, over HTTP on 127.0.0.1: mlflow_server.py. Prints its port, then a line of JSON for each
request (path, authorization, body, status; of large batches how many they have, of files their bytes in hexadecimal); serves until standard
input ends.

It keeps the limits that MLflow's REST API documents. What the first part of the path says goes wrong: /busy answers 503 to the first three
requests and then well, /refusing answers 403, /strange answers with what is no JSON, /silent does not answer, /local has no proxy of artefacts, /small and
/broken take no file (413, 500).
"""
import http.server
import json
import re
import threading

from serve import say, serve

NEVER = threading.Event()
KEY = re.compile(r"[\w\-. /]{1,250}")
MANY = 20
lock = threading.Lock()
state = {"experiments": {}, "runs": {}, "busy": 3}


def log_batch(body):
    if body["run_id"] not in state["runs"]:
        return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST"}
    metrics, params = body.get("metrics", []), body.get("params", [])
    good = len(metrics) <= 1000 and len(params) <= 100 and len(metrics) + len(params) <= 1000
    good = good and all(KEY.fullmatch(one["key"]) for one in metrics + params)
    good = good and all(isinstance(one["value"], (int, float)) and isinstance(one["step"], int) and one["timestamp"] > 1e12 for one in metrics)
    good = good and all(len(one["value"].encode()) <= 500 for one in params)
    return (200, {}) if good else (400, {"error_code": "INVALID_PARAMETER_VALUE"})


def answer(wrong, path, query, body):
    if path == "experiments/get-by-name":
        known = state["experiments"].get(query)
        return (200, {"experiment": {"experiment_id": known}}) if known else (404, {"error_code": "RESOURCE_DOES_NOT_EXIST"})
    if path == "experiments/create":
        return 200, {"experiment_id": state["experiments"].setdefault(body["name"], str(len(state["experiments"]) + 1))}
    if path == "runs/create":
        run = f"run-{len(state['runs']) + 1}"
        state["runs"][run] = body
        uri = f"file:///mlruns/{run}" if wrong == "/local" else f"mlflow-artifacts:/1/{run}/artifacts"
        return 200, {"run": {"info": {"run_id": run, "artifact_uri": uri}}}
    if path.startswith("artifacts/1/"):
        return {"/small": 413, "/broken": 500}.get(wrong, 200), {}
    if path == "runs/log-batch":
        return log_batch(body)
    return (200, {}) if path == "runs/update" else (404, {})


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def serve(self):
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        target, _, query = self.path.partition("?")
        is_file = self.command == "PUT"
        body = sent.hex() if is_file else json.loads(sent or "null")
        wrong, _, path = target.partition("/api/2.0/mlflow-artifacts/" if is_file else "/api/2.0/mlflow/")
        with lock:
            status, said = answer(wrong, path, query.partition("=")[2], body)
            if wrong == "/busy" and state["busy"] > 0:
                state["busy"] -= 1
                status, said = 503, {}
            if wrong == "/refusing":
                status, said = 403, {}
            shown = body
            if path == "runs/log-batch" and len(body["metrics"]) + len(body["params"]) > MANY:  # nobody may be reading yet
                shown = {"metrics": len(body["metrics"]), "params": len(body["params"])}
            say(json.dumps({"path": path, "authorization": self.headers["Authorization"], "body": shown, "status": status}))
        if wrong == "/silent":
            NEVER.wait()
        text = b"<html>" if wrong == "/strange" else json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = serve


if __name__ == "__main__":
    serve(Server)
