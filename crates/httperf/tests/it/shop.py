"""A small shop: log-in with a token, search, and a cart with its stock in SQLite.

The first argument is the port, the second the build: `right`, `price` (its totals are wrong) or `token` (its form has none).
"""

import html
import http.server
import json
import secrets
import sqlite3
import sys
import threading
import urllib.parse

port, build = int(sys.argv[1]), sys.argv[2]
lock = threading.Lock()
database = sqlite3.connect(":memory:", check_same_thread=False)
database.executescript("""
    CREATE TABLE stock (sku TEXT PRIMARY KEY, price INTEGER, left INTEGER);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, user TEXT, sku TEXT, qty INTEGER, total INTEGER);
    CREATE TABLE logins (user TEXT);
    CREATE TABLE requests (request TEXT);
    INSERT INTO stock VALUES ('shoe', 40, 1000000), ('hat', 15, 1000000), ('bag', 60, 1000000);
""")
tokens, sessions = set(), {}


def rows(query, *values):
    with lock:
        return database.execute(query, values).fetchall()


class Shop(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def answer(self, status, text, kind="text/html", fields=()):
        body = text.encode()
        self.send_response(status)
        for field in fields:
            self.send_header(*field)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def user(self):
        cookies = dict(pair.split("=", 1) for pair in self.headers.get("Cookie", "").split("; ") if "=" in pair)
        return sessions.get(cookies.get("sid"))

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path == "/stats":
            return self.stats()
        rows("INSERT INTO requests VALUES (?)", "GET " + self.path)
        if path == "/login":
            token = secrets.token_hex(8)
            tokens.add(token)
            field = "" if build == "token" else f'<input type="hidden" name="_csrf" value="{token}">'
            self.answer(200, f'<form method="post">{field}<input name="user"></form>')
        elif path == "/":
            self.answer(200, f"<p>Welcome, {html.escape(self.user() or 'nobody')}</p>")
        elif path == "/search":
            word = urllib.parse.parse_qs(query).get("q", [""])[0]
            found = rows("SELECT sku FROM stock WHERE sku LIKE ?", f"%{word}%")
            self.answer(200, "".join(f'<li data-sku="{sku}">{sku}</li>' for (sku,) in found) or "<p>nothing</p>")
        else:
            self.answer(404, "not here")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        rows("INSERT INTO requests VALUES (?)", f"POST {self.path}")
        if self.path == "/login":
            form = urllib.parse.parse_qs(body.decode())
            if form.get("_csrf", [""])[0] not in tokens:
                return self.answer(403, "no token")
            user, session = form["user"][0], secrets.token_hex(8)
            if form["password"][0] != "pass of " + user:
                return self.answer(401, "wrong password")
            sessions[session] = user
            rows("INSERT INTO logins VALUES (?)", user)
            self.answer(303, "", fields=[("Location", "./"), ("Set-Cookie", f"sid={session}; Path=/; HttpOnly")])
        elif self.path == "/cart" and self.user():
            self.order(json.loads(body))
        else:
            self.answer(401, "log in first")

    def order(self, wish):
        sku, qty = wish["sku"], int(wish["qty"])
        with lock:
            price, left = database.execute("SELECT price, left FROM stock WHERE sku = ?", (sku,)).fetchone()
            if left < qty:
                return self.answer(409, "{}", "application/json")
            total = price * qty + (1 if build == "price" else 0)
            database.execute("UPDATE stock SET left = left - ? WHERE sku = ?", (qty, sku))
            order = (self.user(), sku, qty, total)
            database.execute("INSERT INTO orders (user, sku, qty, total) VALUES (?, ?, ?, ?)", order)
        reply = {"cart": {"user": self.user(), "items": [{"sku": sku, "qty": qty}], "total": total}}
        self.answer(201, json.dumps(reply), "application/json")

    def stats(self):
        self.answer(200, json.dumps({
            "orders": rows("SELECT COUNT(*) FROM orders")[0][0],
            "ordered": rows("SELECT COALESCE(SUM(qty), 0) FROM orders")[0][0],
            "sold": 3000000 - rows("SELECT SUM(left) FROM stock")[0][0],
            "logins": [user for (user,) in rows("SELECT user FROM logins")],
            "requests": [request for (request,) in rows("SELECT request FROM requests ORDER BY rowid")],
        }), "application/json")

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


Server(("127.0.0.1", port), Shop).serve_forever()
