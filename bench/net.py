# SPDX-License-Identifier: Apache-2.0
"""What requests cost on their way out, beside proxies that decrypt and encrypt
them again: for bench/run.

request: one after the other on a kept-alive connection.  many: on 32 at once.
names: new connections, each to a name never seen before.  bulk: a GiB, down and
up, in one stream and in 32.  memory: what the helpers hold for connections that
wait.  secrets: what putting one in and masking it in the answer takes, beside the
same run without.  Each request of ours is decided and recorded, and gets a secret put in, where
it is not one of names or of bulk.  nginx decides nothing, and puts in a line that it
has ready; Squid and mitmproxy decrypt everything, tinyproxy passes on what it cannot
read.
"""
import base64
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from statistics import median

from listener import Listener

NAME = "api.bench.test"
VALUE = "a-value-of-the-usual-length-0123456789"
FIELD = "Authorization: Bearer "
HELPERS = ["stockade-edge", "stockade-vault", "stockade-dial",
           "stockade-resolv"]
NAMES = 500
TICK = os.sysconf("SC_CLK_TCK")

NGINX = """
worker_processes 1;
worker_rlimit_nofile 65536;
daemon off;
master_process off;
pid {folder}/{role}.pid;
error_log {folder}/{role}.log;
events {{ worker_connections 32768; }}
http {{
    access_log off;
    keepalive_requests 100000000;
    keepalive_timeout 600s;
    sendfile on;
    client_max_body_size 0;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;
    fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4;
    scgi_temp_path {folder}/t5;
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    upstream origin {{
        server 127.0.0.1:{origin_port};
        keepalive 64;
        keepalive_requests 100000000;
    }}
    upstream sink {{ server 127.0.0.1:{sink_port}; }}
    server {{
        listen 127.0.0.1:{port} ssl http2 backlog=4096;
        {action}
    }}
}}
"""
ORIGIN = """
        location / {{ return 200 "answer\\n"; }}
        location /large {{ rewrite ^ /large break; root {folder}; }}
        location /text {{ root {folder}; }}
"""
PROXY = """
        proxy_http_version 1.1;
        proxy_buffering off;
        proxy_request_buffering off;
        proxy_set_header Connection "";
        proxy_set_header Host {name};
        proxy_set_header Authorization "Bearer {value}";
        proxy_ssl_name {name}; proxy_ssl_server_name on;
        proxy_ssl_verify on; proxy_ssl_trusted_certificate {roots};
        location / {{ proxy_pass https://origin; }}
        location /sink {{ proxy_pass https://sink; }}
"""
SQUID = """
http_port 127.0.0.1:{port} ssl-bump tls-cert={folder}/both.pem \
generate-host-certificates=on dynamic_cert_mem_cache_size=16MB
sslcrtd_program /usr/lib/squid/security_file_certgen -s {folder}/minted -M 16MB
tls_outgoing_options cafile={roots}
hosts_file {folder}/hosts
acl said at_step SslBump1
ssl_bump peek said
ssl_bump bump all
http_access allow all
request_header_access Authorization deny all
request_header_replace Authorization Bearer {value}
cache deny all
access_log none
cache_log {folder}/squid.log
pid_filename {folder}/squid.pid
netdb_filename none
coredump_dir {folder}
shutdown_lifetime 1 second
"""
TINYPROXY = """
Port {port}
Listen 127.0.0.1
MaxClients 1000
Allow 127.0.0.1
LogLevel Critical
LogFile "{folder}/tinyproxy.log"
PidFile "{folder}/tinyproxy.pid"
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def cpu_of(pid):
    """Seconds."""
    with open(f"/proc/{pid}/stat") as text:
        fields = text.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def pss_of(pid):
    """KiB."""
    with open(f"/proc/{pid}/smaps_rollup") as text:
        return next(int(line.split()[1]) for line in text
                    if line.startswith("Pss:"))


def helpers_of(above):
    """{pid: name} of the helpers that descend from `above`."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as text:
                name = text.read().strip()
            parent = pid if name in HELPERS else "0"
            while parent not in ("0", str(above)):
                with open(f"/proc/{parent}/stat") as text:
                    parent = text.read().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if parent != "0":
            found[pid] = name
    return found


class Sink(Listener):
    """An origin that takes whatever is sent, and says when that was all."""

    def serve(self, s):
        room = bytearray(1 << 20)
        while True:
            head = b""
            while b"\r\n\r\n" not in head:
                more = s.recv(65536)
                if not more:
                    return
                head += more
            lines, body = head.lower().split(b"\r\n\r\n", 1)
            left = next(int(line.split(b":")[1])
                        for line in lines.split(b"\r\n")
                        if line.startswith(b"content-length:")) - len(body)
            while left > 0:
                left -= s.recv_into(room) or left
            s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


class Net:
    """The servers and the ways to them, made when first asked for."""
    def __init__(self, bench):
        self.bench, self.servers = bench, {}
        self.leaf = bench.authority.leaf(NAME, f"*.{NAME}")
        self.sink = Sink(socket.create_server(("127.0.0.1", 0)), self.leaf)
        self.large = 64 << 20 if bench.quick else 1 << 30
        with open(os.path.join(bench.folder, "large"), "wb") as out:
            out.truncate(self.large)
        self.origin = free_port()
        self.nginx("origin", self.origin, ORIGIN.format(folder=bench.folder))
        self.outside = {**bench.env, "SSL_CERT_FILE": bench.roots}
        self.load = os.path.join(bench.cwd, "load")
        subprocess.run(
            ["cc", "-O2", "-D_GNU_SOURCE", "-o", self.load,
             os.path.join(bench.top, "bench", "load.c"), "-lssl", "-lcrypto"],
            check=True)

    def start(self, role, argv, port):
        self.servers[role] = subprocess.Popen(
            argv, env=self.bench.env, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return port
            except OSError:
                time.sleep(0.02)
        sys.exit(f"bench/run: {role} does not start")

    def write(self, name, text):
        path = os.path.join(self.bench.folder, name)
        with open(path, "w") as out:
            out.write(text)
        return path

    def nginx(self, role, port, action):
        path = self.write(role + ".conf", NGINX.format(
            folder=self.bench.folder, role=role, port=port, action=action,
            origin_port=self.origin, sink_port=self.sink.port,
            certificate=self.leaf[0], key=self.leaf[1]))
        return self.start(role, ["nginx", "-p", self.bench.folder, "-c", path],
                          port)

    def proxy(self):
        return self.nginx("proxy", free_port(), PROXY.format(
            name=NAME, value=VALUE, roots=self.bench.roots))

    def squid(self):
        port, folder = free_port(), self.bench.folder
        both = os.path.join(folder, "both.pem")
        self.bench.authority.write_both(both)
        for argv in (["/usr/lib/squid/security_file_certgen", "-c", "-s",
                      os.path.join(folder, "minted"), "-M", "16MB"],
                     ["chown", "-R", "proxy:", both,
                      os.path.join(folder, "minted")]):
            subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        path = self.write("squid.conf", SQUID.format(
            port=port, folder=folder, roots=self.bench.roots, value=VALUE))
        self.write("hosts", f"127.0.0.1 {NAME}\n")
        return self.start("squid", ["squid", "-N", "-f", path], port)

    def mitmproxy(self):
        port, folder = free_port(), os.path.join(self.bench.folder, "mitm")
        os.makedirs(folder)
        self.bench.authority.write_both(
            os.path.join(folder, "mitmproxy-ca.pem"))
        return self.start("mitmproxy", [
            "mitmdump", "-q", "--listen-host", "127.0.0.1", "-p", str(port),
            "--set", f"confdir={folder}", "--set",
            f"ssl_verify_upstream_trusted_ca={self.bench.roots}", "--set",
            f"modify_headers=/~q/Authorization/Bearer {VALUE}"], port)

    def tinyproxy(self):
        port = free_port()
        path = self.write("tinyproxy.conf", TINYPROXY.format(
            port=port, folder=self.bench.folder))
        return self.start("tinyproxy", ["tinyproxy", "-d", "-c", path], port)

    def port(self, role):
        """Of a proxy; None where it is not installed."""
        if not hasattr(self, role + "_port"):
            program = {"proxy": "nginx", "mitmproxy": "mitmdump"}.get(role,
                                                                       role)
            setattr(self, role + "_port", getattr(self, role)() if
                    shutil.which(program, path=self.bench.env["PATH"])
                    else None)
        return getattr(self, role + "_port")

    def rules(self):
        return ["--roots", self.bench.roots,
                "--reach", f"{NAME} via 127.0.0.1:{self.origin}",
                "--allow", f"GET {NAME}/**",
                "--secret", f"TOKEN from env for {NAME} as bearer"]

    def without(self, *words):
        """The same request in a run that has no secret."""
        return ([self.bench.program, "run", *self.rules()[:-2], "--",
                 "./load", *words, NAME, "-", "443", FIELD + VALUE],
                self.bench.env)

    def way(self, role, *words):
        """argv and environment of `load` with these words."""
        if role == "without":
            return self.without(*words)
        if role == "stockade":
            return ([self.bench.program, "run", *self.rules(), "--",
                     "/bin/sh", "-c", 'exec ./load "$@" "$0$TOKEN"', FIELD,
                     *words, NAME, "-", "443"], self.bench.env)
        port = self.port("proxy") if role == "nginx" else self.origin
        words = [*words, NAME, NAME if role == "squid" else "127.0.0.1",
                 str(port), FIELD + VALUE]
        if role not in ("direct", "nginx"):
            words = ["-x", str(self.port(role)), *words]
        return [self.load, *words], self.outside

    def measure(self, role, *words):
        argv, env = self.way(role, *words)
        done = subprocess.run(argv, cwd=self.bench.cwd, env=env, check=True,
                              stdout=subprocess.PIPE)
        return [float(word) for word in done.stdout.split()]

    def turns(self, roles, *words):
        """{role: medians of what `load` prints}, in turns."""
        took = {role: [] for role in roles}
        for _ in range(2 if self.bench.quick else 5):
            for role in roles:
                took[role].append(self.measure(role, *words))
        return {role: [median(column) for column in zip(*times)]
                for role, times in took.items()}

    def others(self):
        return [role for role in ("squid", "mitmproxy", "tinyproxy")
                if self.port(role)]

    def close(self):
        for server in self.servers.values():
            server.terminate()
            server.wait()
        for child in subprocess.run(
                ["pgrep", "-f", self.bench.folder], check=False,
                stdout=subprocess.PIPE, text=True).stdout.split():
            os.kill(int(child), signal.SIGKILL)


def net(bench):
    if not bench.net:
        bench.net = Net(bench)
    return bench.net


def request(bench):
    n = net(bench)
    count = "500" if bench.quick else "4000"
    took = n.turns(["direct", "nginx", "stockade"], "-n", count)
    others = {role: n.measure(role, "-n", count) for role in n.others()}
    for column, what in ((0, "p50"), (1, "p99")):
        added = {role: times[column] - took["direct"][column]
                 for role, times in (took | others).items()}
        bench.row(f"added to a kept-alive HTTPS request, {what}",
                  f"{added['stockade']:.0f} us",
                  f"nginx {added['nginx']:.0f} us",
                  added["stockade"] / added["nginx"],
                  2.5 if column == 0 else None)
        bench.row("... by others", "", ", ".join(
            f"{role} {added[role]:.0f} us" for role in others), None, None)
    bench.row("that request, whole, p50", f"{took['stockade'][0]:.0f} us",
              f"direct {took['direct'][0]:.0f} us", None, None)


def faster(bench, label, took, others, bound):
    """More is better."""
    bench.row(label, f"{took['stockade'][2]:.0f}/s",
              f"nginx {took['nginx'][2]:.0f}/s",
              took["stockade"][2] / took["nginx"][2], bound, least=True)
    bench.row("... others", "", ", ".join(
        f"{role} {times[2]:.0f}/s" for role, times in others.items()), None,
        None)


def many(bench):
    n = net(bench)
    words = ["-c", "32", "-n", "2000" if bench.quick else "20000"]
    took = n.turns(["nginx", "stockade"], *words)
    faster(bench, "requests on 32 connections", took,
           {role: n.measure(role, *words) for role in n.others()}, 0.4)


def names(bench):
    n = net(bench)
    words = ["-c", "4", "-k", "1", "-n", str(NAMES)]
    took = {"nginx": [], "stockade": []}
    for _ in range(1 if bench.quick else 3):
        took["nginx"].append(n.measure("nginx", *words))
        took["stockade"].append(never_seen(n, words))
    took = {role: [median(column) for column in zip(*times)]
            for role, times in took.items()}
    others = {role: n.measure(role, "-i", *words) for role in n.others()}
    faster(bench, f"new connections, {NAMES} names", took, others, 0.5)


def never_seen(n, words):
    policy = n.write("names", "".join(
        f"reach {i}.{NAME} via 127.0.0.1:{n.origin}\n"
        for i in range(NAMES)) + f"allow GET *.{NAME}/**\n")
    done = subprocess.run(
        [n.bench.program, "run", "--policy", policy, "--roots", n.bench.roots,
         "--", "./load", "-i", *words, NAME, "-", "443", "Accept: */*"],
        cwd=n.bench.cwd, env=n.bench.env, check=True, stdout=subprocess.PIPE)
    return [float(word) for word in done.stdout.split()]


CURL = """set -e
url=$1; shift
case $0 in
down)   curl -fsS "$@" -o /dev/null "$url/large" ;;
up)     curl -fsS "$@" -T large -o /dev/null "$url/sink" ;;
many)   curl -fsS "$@" -Z --parallel-max 32 -r 0-$((LARGE / 32 - 1)) \
            -o /dev/null "$url/large/[1-32]" 2> /dev/null ;;
all)    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
            set -- "$@" -T part -o /dev/null "$url/sink" \
                        -T part -o /dev/null "$url/sink"
        done
        curl -fsS -Z --parallel-max 32 "$@" 2> /dev/null ;;
esac"""


# curl reads all roots anew for each connection, which the others need not.
CA = "/etc/stockade/ca.pem"


def moved(n, role, what, *flags):
    """MB a second."""
    bench, env = n.bench, {"LARGE": str(n.large)}
    port = n.port("proxy") if role == "nginx" else n.origin
    up = what in ("up", "all")
    if role == "direct" and up:
        port = n.sink.port
    for name, size in (("large", n.large), ("part", n.large // 32)):
        with open(os.path.join(bench.cwd, name), "ab") as out:
            out.truncate(size)
    argv = ["/bin/sh", "-c", CURL, what, f"https://{NAME}:{port}",
            "--resolve", f"{NAME}:{port}:127.0.0.1", *flags]
    if role == "stockade":
        to = n.sink.port if up else n.origin
        argv = [bench.program, "run", "--roots", bench.roots, "--reach",
                f"{NAME} via 127.0.0.1:{to}", "--allow", f"GET,PUT {NAME}/**",
                "--env", f"set LARGE={n.large}", "--", "/bin/sh", "-c", CURL,
                what, f"https://{NAME}", "--cacert", CA, *flags]
    before = time.perf_counter()
    subprocess.run(argv, cwd=bench.cwd, env={**n.outside, **env}, check=True)
    return n.large / (time.perf_counter() - before) / 1e6


def bulk(bench):
    n = net(bench)
    size = f"{n.large >> 20} MiB"
    for label, what, flags in (
            (f"{size} down, one stream", "down", ["--http1.1"]),
            ("... by HTTP/2", "down", ["--http2"]),
            (f"{size} up, one stream", "up", ["--http1.1"]),
            ("... by HTTP/2", "up", ["--http2"]),
            (f"{size} down, 32 streams", "many", ["--http1.1"]),
            ("... by HTTP/2", "many", ["--http2"]),
            (f"{size} up, 32 streams", "all", ["--http1.1"]),
            ("... by HTTP/2", "all", ["--http2"])):
        took = {"nginx": [], "stockade": []}
        for _ in range(1 if bench.quick else 3):
            for role, rates in took.items():
                rates.append(moved(n, role, what, *flags))
        ours, theirs = median(took["stockade"]), median(took["nginx"])
        bench.row(label, f"{ours:.0f} MB/s", f"nginx {theirs:.0f} MB/s",
                  ours / theirs, 0.7, least=True)
    spent(bench, n, size)


def spent(bench, n, size):
    """CPU of all of stockade for that, without what curl takes by itself."""
    def children():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def took(role):
        before = children()
        moved(n, role, "down", "--http1.1")
        return children() - before
    curl, whole = took("direct"), took("stockade")
    peer = n.servers.get("proxy")
    before = cpu_of(peer.pid) if peer else 0
    moved(n, "nginx", "down", "--http1.1")
    theirs = cpu_of(peer.pid) - before
    bench.row(f"CPU for {size} down", f"{whole - curl:.2f} s",
              f"nginx {theirs:.2f} s", (whole - curl) / theirs, None)


def held(n, connections, each):
    """{name: KiB} and CPU seconds, when that many connections have had so many
    requests each, and wait."""
    argv, env = n.way("stockade", "-w", "-c", str(connections), "-k", str(each),
                      "-n", str(connections * each))
    child = subprocess.Popen(argv, cwd=n.bench.cwd, env=env,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        time.sleep(0.5)
        helpers = helpers_of(child.pid)
        return ({name: pss_of(pid) for pid, name in helpers.items()},
                sum(cpu_of(pid) for pid in helpers))
    finally:
        child.stdin.close()
        child.wait()


def memory(bench):
    n = net(bench)
    # edge has two descriptors for each, and some for itself.
    most = (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 100) // 2
    for connections, bound in ((1, 6), (100, 8), (2000, 40),
                               (min(10000, most), None)):
        if bench.quick and connections > 100:
            break
        size, _ = held(n, connections, 10 if connections == 1 else 1)
        each = ", ".join(f"{name[9:]} {size[name] / 1024:.1f}"
                         for name in sorted(size))
        bench.row(f"helpers' PSS, {connections} connections, MiB", each, "",
                  sum(size.values()) / 1024, bound)


def secrets(bench):
    n = net(bench)
    took = n.turns(["without", "stockade"], "-n",
                   "500" if bench.quick else "4000")
    whole, less = took["stockade"][0], took["without"][0]
    bench.row("a secret adds to a request, p50, us", f"{whole:.0f} us",
              f"without {less:.0f} us", whole - less, 50)
    for label, how in (("... to a text of 256 MiB", "--http1.1"),
                       ("... by HTTP/2", "--http2")):
        rates = {True: [], False: []}
        for _ in range(1 if bench.quick else 3):
            for is_masked, took in rates.items():
                took.append(read(n, is_masked, how))
        masked, plain = median(rates[True]), median(rates[False])
        bench.row(label, f"{masked:.0f} MB/s", f"without {plain:.0f} MB/s",
                  masked / plain, 0.8, least=True)


def read(n, is_masked, how):
    """MB a second of a text in which every byte may begin a value."""
    bench = n.bench
    path = os.path.join(bench.folder, "text")
    if not os.path.exists(path):
        with open(path, "wb") as out:
            for _ in range(256):
                out.write(base64.b64encode(os.urandom(3 << 18)))
    size = os.path.getsize(path)
    held = n.rules()[-2:] if is_masked else ["--env", "set TOKEN=none"]
    argv = [bench.program, "run", *n.rules()[:-2], *held, "--", "/bin/sh",
            "-c", 'exec curl -fsS -o /dev/null --cacert "$0" "$@" '
            f'-H "{FIELD}$TOKEN" https://{NAME}/text', CA, how]
    before = time.perf_counter()
    subprocess.run(argv, cwd=bench.cwd, env=bench.env, check=True)
    return size / (time.perf_counter() - before) / 1e6


def cost(bench):
    """Of the helpers alone."""
    n = net(bench)
    count = 2000 if bench.quick else 20000
    _, none = held(n, 1, 10)
    _, some = held(n, 1, count)
    before = cpu_of(n.servers["proxy"].pid) if n.port("proxy") else 0
    n.measure("nginx", "-n", str(count))
    peer = cpu_of(n.servers["proxy"].pid) - before
    bench.row("CPU of the helpers for a request",
              f"{(some - none) / count * 1e6:.0f} us",
              f"nginx {peer / count * 1e6:.0f} us", (some - none) / peer, None)
