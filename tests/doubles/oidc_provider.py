#!/usr/bin/env python3
"""An OpenID provider's HTTPS server for tests: oidc_provider.py CERTIFICATE KEY FOLDER. Prints its port, then a line for each POST (its
path); serves until standard input ends.

GET /keys answers with FOLDER/keys.json. POST /token gives each code of FOLDER/grants.json away once: {code: {"challenge", "redirect_uri",
"client_id", "secret", "id_token"}}; a secret is wanted by the Basic scheme, and without one the client names itself. POST to any other
path goes wrong in the way that it is named after.
"""
import base64
import hashlib
import http.server
import json
import pathlib
import sys
import threading
import urllib.parse

from serve import say, serve

NEVER = threading.Event()
FOLDER = pathlib.Path(sys.argv[3])
used = set()
lock = threading.Lock()


def s256(verifier):
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def basic(client_id, secret):
    quoted = ":".join(urllib.parse.quote(text, safe="-._~") for text in (client_id, secret))
    return "Basic " + base64.b64encode(quoted.encode()).decode()


def granted(form, authorization):
    """The ID token for this form, or the error of RFC 6749 section 5.2."""
    grant = json.loads((FOLDER / "grants.json").read_text()).get(form.get("code"))
    if form.get("grant_type") != "authorization_code":
        return None, "unsupported_grant_type"
    if grant is None or form["code"] in used:
        return None, "invalid_grant"
    if grant["secret"]:
        is_client = authorization == basic(grant["client_id"], grant["secret"]) and "client_id" not in form
    else:
        is_client = authorization is None and form.get("client_id") == grant["client_id"]
    if not is_client:
        return None, "invalid_client"
    if s256(form.get("code_verifier", "")) != grant["challenge"] or form.get("redirect_uri") != grant["redirect_uri"]:
        return None, "invalid_grant"
    used.add(form["code"])
    return grant["id_token"], None


class Provider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.close_connection = True
        self.answer(200, (FOLDER / "keys.json").read_bytes()) if self.path == "/keys" else self.answer(404)

    def do_POST(self):
        self.close_connection = True
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        say(self.path)
        if self.path == "/token":
            form = dict(urllib.parse.parse_qsl(body, strict_parsing=True))
            with lock:
                token, error = granted(form, self.headers["Authorization"])
            text = {"error": error} if error else {"access_token": "of-no-use", "token_type": "Bearer", "id_token": token}
            self.answer(400 if error else 200, json.dumps(text).encode())
        elif self.path == "/redirect":
            self.answer(307, headers=[("Location", "/token")])
        elif self.path == "/garbage":
            self.answer(200, b"<html>signed in</html>")
        elif self.path == "/silent":
            NEVER.wait()
        elif self.path == "/endless":
            self.send_response(200)
            self.send_header("Content-Length", str(1 << 40))
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                pass  # the client has had enough


if __name__ == "__main__":
    serve(Provider, sys.argv[1], sys.argv[2])
