"""What every double of a service does: a server of its handler on 127.0.0.1, until standard input ends. Prints its port."""
import http.server
import os
import ssl
import sys
import threading


def say(line):
    """Prints a line whole. Requests are answered in threads of their own, and print() writes a line and its end in two steps."""
    os.write(1, f"{line}\n".encode())  # a pipe takes up to PIPE_BUF bytes at once; longer lines come from clients that wait


def serve(handler, certificate=None, key=None):
    """Over HTTPS with a certificate. A client that is stopped, distrusts us or gives up hangs up, and nobody is told."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *_: None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.daemon_threads = True
    server.block_on_close = False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    say(server.server_address[1])
    sys.stdin.read()
