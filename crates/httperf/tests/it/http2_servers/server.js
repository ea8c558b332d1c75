// Node's http2, with and without TLS: node server.js PORT [tls] [http1] [requests=N] [idle=MS]
//
// SIGHUP closes all sessions in order; new ones are taken.
"use strict";
const crypto = require("node:crypto");
const fs = require("node:fs");
const http = require("node:http");
const https = require("node:https");
const http2 = require("node:http2");
const path = require("node:path");

const [port, ...words] = process.argv.slice(2);
const has = (word) => words.includes(word);
const number = (name) => Number(words.find((word) => word.startsWith(`${name}=`))?.split("=")[1] ?? 0);

const sessions = new Set();
process.on("SIGHUP", () => sessions.forEach((session) => session.close()));

function answer(request, response) {
    const [, first, argument] = request.url.split("/");
    const session = request.stream?.session;
    if (session && number("requests") > 0) {
        session.served = (session.served ?? 0) + 1;
        // Node 20 destroys its own memory if this is done while it reads what came.
        if (session.served === number("requests")) setImmediate(() => session.close());
    }
    switch (first) {
        case "echo":
            return echo(request, response);
        case "late":
            return setTimeout(() => echo(request, response), 500);
        case "trailers":
            response.writeHead(200, { trailer: "x-check" });
            response.write("x".repeat(Number(argument)));
            response.addTrailers({ "x-check": "abc" });
            return response.end();
        case "streams":
            return session.settings({ maxConcurrentStreams: Number(argument) }, () => response.end("changed\n"));
        case "request": {
            const fields = Object.entries(request.headers).filter(([name]) => !name.startsWith(":"));
            const host = request.headers[":authority"] ?? request.headers.host;
            response.write(`HTTP/${request.httpVersion} ${request.method} ${host} ${request.url}\n`);
            return response.end(fields.map(([name, value]) => `${name}: ${value}\n`).join(""));
        }
        case "cookie":
            response.setHeader("set-cookie", ["one=1", "two=2"]);
            return response.end(`${(request.headers.cookie ?? "").split("; ").join("+")}\n`);
        default:
            return file(request, response);
    }
}

// What came: its size and its SHA-256.
function echo(request, response) {
    const hash = crypto.createHash("sha256");
    let size = 0;
    request.on("data", (piece) => {
        size += piece.length;
        hash.update(piece);
    });
    request.on("end", () => response.end(`${size} ${hash.digest("hex")}\n`));
}

function file(request, response) {
    const name = path.join("docs", path.normalize(request.url));
    const size = fs.existsSync(name) && fs.statSync(name).isFile() ? fs.statSync(name).size : undefined;
    if (size === undefined) {
        response.writeHead(404, { "content-length": 10 });
        return response.end("not found\n");
    }
    response.writeHead(200, { "content-length": size });
    if (request.method === "HEAD") return response.end();
    return fs.createReadStream(name).pipe(response);
}

const pair = has("tls") ? { cert: fs.readFileSync("server.pem"), key: fs.readFileSync("server.key") } : {};
const settings = number("streams") > 0 ? { maxConcurrentStreams: number("streams") } : {};
let server;
if (has("http1")) {
    server = has("tls") ? https.createServer(pair, answer) : http.createServer(answer);
} else if (has("tls")) {
    server = http2.createSecureServer({ ...pair, settings, allowHTTP1: true }, answer);
} else {
    server = http2.createServer({ settings }, answer);
}
server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => {});
    if (number("idle") > 0) session.setTimeout(number("idle"), () => session.close());
});
server.listen(Number(port), "127.0.0.1");
