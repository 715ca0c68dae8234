"""Who is told of progress, and of rows that come home early."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer


class House:
    """A control plane that keeps what is posted, and stops the job after `enough` rows."""

    def __init__(self, enough=10**9, fail=0):
        self.rows, self.tokens, self.enough, self.fail = [], set(), enough, fail
        house = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                house.tokens.add(self.headers["Authorization"])
                if house.fail > 0:
                    house.fail -= 1
                    self.send_error(503)
                    return
                house.rows += body.get("points", [body])
                answer = json.dumps({"continue": len(house.rows) < house.enough}).encode()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
