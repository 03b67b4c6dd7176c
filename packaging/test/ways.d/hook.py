#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A webhook on 127.0.0.1:8099: writes each body that is posted, a line each, behind a status of 204."""
import http.server


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        print(body.decode(), flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words):
        pass


http.server.HTTPServer(("127.0.0.1", 8099), Hook).serve_forever()
