// SPDX-License-Identifier: Apache-2.0
// Node's side of fuzz/differential.py: frames in (a 32-bit length, bytes that
// an origin would receive), one line of JSON out for each: the requests seen.
'use strict';
const http = require('http');
const { Duplex } = require('stream');

const server = http.createServer({ insecureHTTPParser: false });

function note(request, body) {
  request.socket.seen.push({
    method: request.method, target: request.url, fields: request.rawHeaders,
    body: Buffer.concat(body).toString('latin1'),
  });
}

server.on('request', (request, response) => {
  const body = [];
  request.on('data', (piece) => body.push(piece));
  request.on('end', () => {
    note(request, body);
    response.end();
  });
});
server.on('clientError', (error, socket) => socket.destroy());
server.on('checkContinue', (q, s) => server.emit('request', q, s));
// What is behind the head is read as if the upgrade had been declined.
server.on('upgrade', (request, socket, behind) => {
  note(request, []);
  read(behind, 10).then((seen) => socket.seen.push(...seen));
});

function read(bytes, patience) {
  return new Promise((resolve) => {
    const socket = new Duplex({
      read() {}, write(piece, encoding, done) { done(); },
    });
    socket.seen = [];
    socket.setTimeout = socket.setNoDelay = socket.setKeepAlive =
      () => socket;
    socket.on('close', () => resolve(socket.seen));
    socket.on('error', () => {});
    server.emit('connection', socket);
    socket.push(bytes);
    setTimeout(() => socket.destroy(), patience);
  });
}

let pending = Buffer.alloc(0);
let chain = Promise.resolve();
process.stdin.on('data', (piece) => {
  pending = Buffer.concat([pending, piece]);
  while (pending.length >= 4 &&
         pending.length >= 4 + pending.readUInt32LE(0)) {
    const n = pending.readUInt32LE(0);
    const answer = read(pending.subarray(4, 4 + n), 25);
    pending = pending.subarray(4 + n);
    chain = chain.then(() => answer).then((seen) => {
      process.stdout.write(JSON.stringify(seen) + '\n');
    });
  }
});
process.stdin.on('end', () => chain.then(() => process.exit(0)));
