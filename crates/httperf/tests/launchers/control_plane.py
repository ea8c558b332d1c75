"""A control plane of Kubernetes, and a stand-in for its nodes.

etcd, kube-apiserver, kube-controller-manager and kube-scheduler are the real ones. The nodes exist in name only: instead of
a kubelet, `Nodes` runs the command of each pod as a process of this machine, in a file system of its own that has what the
pod's volumes say, as a user without rights, and tells the API server what comes of it.

    unshare --mount --pid --fork --kill-child --mount-proc python3 control_plane.py TOOLS PROGRAM MANIFESTS FOLDER

Creates the objects of MANIFESTS with kubectl, waits until the job has ended, and writes what came of it to stdout as JSON.
A line on stdin says what is to happen meanwhile: `kill` kills rank 2, `delete-pod` deletes its pod, `delete-job` the job.
With `words` behind FOLDER, nothing is run: the words of a rank are written as the API server has them. What is left ends
with the namespace of processes.
"""

import base64
import json
import os
import re
import select
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

PATIENCE = 120
ATTEMPTS = 5
NODES = 4
TOKEN = "the-token-of-the-tests"


def free_ports(count):
    """Ports that are free now. All are held at once, so that they differ."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return reply.status == 200
    except OSError:
        return False


def until(look, what, patience=PATIENCE):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.1)
    raise SystemExit(f"waited {patience} s for {what}")


class ControlPlane:
    def __init__(self, tools, folder):
        self.tools, self.folder, self.processes, self.url = tools, folder, [], ""
        self.context = ssl.create_default_context()
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def start_program(self, program, *options):
        log = open(self.log_of(program), "wb")
        self.processes.append(subprocess.Popen(
            [program, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder))
        return self.processes[-1]

    def log_of(self, program):
        return os.path.join(self.folder, f"{os.path.basename(program)}.log")

    def start_listening(self, program, options, look):
        """Starts a program at ports that `options` chooses. Another process can take one before it is used: then others are
        tried."""
        for _ in range(ATTEMPTS):
            process = self.start_program(program, *options())
            if until(lambda: process.poll() is not None or look(), program) is True and process.poll() is None:
                return
        with open(self.log_of(program), errors="replace") as log:
            raise SystemExit(f"{program} does not start: {log.read()[-2000:]}")

    def etcd_options(self):
        self.etcd, peer = (f"http://127.0.0.1:{port}" for port in free_ports(2))
        return [f"--data-dir=etcd-{len(self.processes)}",
                f"--listen-client-urls={self.etcd}", f"--advertise-client-urls={self.etcd}",
                f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}"]

    def server_options(self):
        [port] = free_ports(1)
        self.url = f"https://127.0.0.1:{port}"
        return [f"--etcd-servers={self.etcd}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
                f"--secure-port={port}", "--cert-dir=certificates", "--service-account-issuer=https://tests",
                "--service-account-key-file=key.pem", "--service-account-signing-key-file=key.pem",
                f"--token-auth-file={self.tokens}", "--authorization-mode=RBAC",
                "--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.0.0.0/24"]

    def start(self):
        self.start_listening("etcd", self.etcd_options, lambda: answers(f"{self.etcd}/health"))
        subprocess.run(["openssl", "genrsa", "-out", "key.pem", "2048"], cwd=self.folder, check=True, capture_output=True)
        self.tokens = self.write("tokens.csv", f'{TOKEN},admin,admin,"system:masters"\n')
        self.start_listening(f"{self.tools}/kube-apiserver", self.server_options, self.is_ready)
        self.kubeconfig = self.write("kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "tests",
            "clusters": [{"name": "tests", "cluster": {"server": self.url, "insecure-skip-tls-verify": True}}],
            "users": [{"name": "tests", "user": {"token": TOKEN}}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
        }))
        known = [f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--secure-port=0"]
        self.start_program(
            f"{self.tools}/kube-controller-manager", *known,
            "--controllers=job-controller,garbage-collector-controller")
        self.start_program(f"{self.tools}/kube-scheduler", *known)
        for index in range(NODES):
            capacity = {"cpu": "4", "memory": "8Gi", "pods": "20"}
            self.ask("POST", "/api/v1/nodes", {
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": f"n{index}", "labels": {"kubernetes.io/hostname": f"n{index}"}},
                "status": {"capacity": capacity, "allocatable": capacity,
                           "conditions": [{"type": "Ready", "status": "True"}]},
            })
            # They come with a taint until somebody has seen them.
            self.ask("PATCH", f"/api/v1/nodes/n{index}", {"spec": {"taints": []}})

    def is_ready(self):
        try:
            self.ask("GET", "/readyz")
            return bool(self.ask("GET", "/api/v1/namespaces/default"))
        except (OSError, ValueError):
            return False

    def ask(self, method, path, body=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        request = urllib.request.Request(
            self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": kind})
        with urllib.request.urlopen(request, context=self.context, timeout=30) as reply:
            text = reply.read()
        return json.loads(text) if text.startswith(b"{") else text

    def kubectl(self, *words):
        command = [f"{self.tools}/kubectl", f"--kubeconfig={self.kubeconfig}", *words]
        return subprocess.run(command, capture_output=True, text=True)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


class Nodes:
    """All nodes: what a kubelet, a container runtime and the cluster's DNS do."""

    def __init__(self, plane, program):
        self.plane, self.program = plane, program
        self.pods, self.known, self.names = {}, {}, []
        hosts = plane.write("hosts", open("/etc/hosts").read())
        subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)

    def look(self):
        """One turn: starts what was scheduled, ends what was deleted, says what has ended."""
        services = self.plane.ask("GET", "/api/v1/namespaces/default/services")["items"]
        for pod in self.plane.ask("GET", "/api/v1/namespaces/default/pods")["items"]:
            name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
            self.known[uid] = pod
            if pod["spec"].get("nodeName") and uid not in self.pods and not pod["metadata"].get("deletionTimestamp"):
                self.publish(pod, services)
                self.pods[uid] = self.run(pod)
                self.report(name, "Running", {"running": {}})
            process = self.pods.get(uid)
            if process is None:
                continue
            if pod["metadata"].get("deletionTimestamp") and process.poll() is None:
                process.send_signal(signal.SIGTERM)
            status = process.poll()
            if status is not None and pod["status"].get("phase") not in ("Succeeded", "Failed"):
                code = status if status >= 0 else 128 - status
                self.report(name, "Failed" if code else "Succeeded", {"terminated": {"exitCode": code}})
            if status is not None and pod["metadata"].get("deletionTimestamp"):
                self.forget(name)

    def forget(self, name):
        try:
            self.plane.ask("DELETE", f"/api/v1/namespaces/default/pods/{name}", {"gracePeriodSeconds": 0})
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise

    def report(self, name, phase, state):
        container = {"name": "httperf", "image": "", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        try:
            self.plane.ask("PATCH", f"/api/v1/namespaces/default/pods/{name}/status",
                           {"status": {"phase": phase, "containerStatuses": [container]}})
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise

    def publish(self, pod, services):
        """The DNS: a host in a subdomain has a name if a Service without an address selects it, ready or not."""
        spec, labels = pod["spec"], pod["metadata"]["labels"]
        for service in services:
            wanted = service["spec"].get("selector") or {}
            fits = wanted and all(labels.get(key) == value for key, value in wanted.items())
            is_headless = service["spec"].get("clusterIP") == "None"
            if fits and is_headless and service["metadata"]["name"] == spec.get("subdomain") \
                    and service["spec"].get("publishNotReadyAddresses"):
                self.names.append(f"{spec['hostname']}.{spec['subdomain']}")
                with open("/etc/hosts", "a") as hosts:
                    hosts.write(f"127.0.1.{len(self.names)} {self.names[-1]}\n")

    def run(self, pod):
        spec, uid = pod["spec"], pod["metadata"]["uid"]
        [container] = spec["containers"]
        variables = {each["name"]: self.value(pod, each) for each in container.get("env", [])}
        words = [expanded(word, variables) for word in container["command"] + container.get("args", [])]
        folder = os.path.join(self.plane.folder, uid)
        script = self.furnish(pod, container, folder)
        files = [open(os.path.join(folder, name), "wb") for name in ("stdout", "stderr")]
        command = ["unshare", "--mount", "sh", "-c", script, "sh", os.path.join(folder, "root"), container["workingDir"]]
        environment = {"PATH": "/opt:/usr/bin:/bin", **variables}
        return subprocess.Popen(command + words, env=environment, stdin=subprocess.DEVNULL, stdout=files[0],
                                stderr=files[1])

    def value(self, pod, variable):
        source = variable.get("valueFrom")
        if source is None:
            return variable.get("value", "")
        if "secretKeyRef" in source:
            return self.secret(source["secretKeyRef"]["name"])[source["secretKeyRef"]["key"]].decode()
        kind, key = re.fullmatch(r"metadata\.(labels|annotations)\['(.*)'\]", source["fieldRef"]["fieldPath"]).groups()
        return pod["metadata"][kind][key]

    def secret(self, name):
        data = self.plane.ask("GET", f"/api/v1/namespaces/default/secrets/{name}")["data"]
        return {key: base64.b64decode(value) for key, value in data.items()}

    def furnish(self, pod, container, folder):
        """Makes the folders of a pod. Returns a script that enters them and runs what it is given there."""
        security, pod_security = container["securityContext"], pod["spec"]["securityContext"]
        assert pod_security["runAsNonRoot"] and security["capabilities"]["drop"] == ["ALL"]
        # What is not mounted is root's, so for a user without rights it is read-only.
        assert security["readOnlyRootFilesystem"]
        root = os.path.join(folder, "root")
        lines = ["set -e"]
        for name in ("dev", "etc", "opt", "proc", "run", "sys", "tmp", "usr", "bin", "sbin", "lib", "lib64"):
            place = f"{root}/{name}"
            if os.path.islink(f"/{name}"):
                os.makedirs(root, exist_ok=True)
                os.symlink(os.readlink(f"/{name}"), place)
            elif os.path.isdir(f"/{name}"):
                os.makedirs(place)
                if name in ("dev", "etc", "proc", "sys", "usr", "bin", "sbin", "lib", "lib64"):
                    lines.append(f"mount --rbind /{name} {place}")
        subprocess.run(["cp", self.program, f"{root}/opt/httperf"], check=True)
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        for index, mount in enumerate(container["volumeMounts"]):
            volume, place, source = volumes[mount["name"]], root + mount["mountPath"], f"{folder}/volume-{index}"
            if "emptyDir" in volume:
                os.makedirs(place)
                os.makedirs(source)
                os.chmod(source, 0o777)
                inner = source
            else:
                with open(source, "wb") as file:
                    file.write(self.secret(volume["secret"]["secretName"])[mount["subPath"]])
                # A runtime makes the place of a file where it has mounted a folder.
                within = os.path.join(inner, os.path.relpath(mount["mountPath"], container["workingDir"]))
                os.makedirs(os.path.dirname(within), exist_ok=True)
                open(within, "w").close()
            lines.append(f"mount --bind {source} {place}")
        lines += ['root=$1 folder=$2', "shift 2",
                  'exec /usr/sbin/chroot "$root" /usr/bin/setpriv --reuid=65532 --regid=65532 --clear-groups --no-new-privs '
                  '--bounding-set=-all sh -c \'cd "$0" && exec "$@"\' "$folder" "$@"']
        return "\n".join(lines)

    def process_of(self, rank):
        for uid, process in self.pods.items():
            if index_of(self.known[uid]) == rank:
                return process
        return None

    def printed(self, uid, name):
        with open(os.path.join(self.plane.folder, uid, name), errors="replace") as file:
            return file.read()


def index_of(pod):
    return int(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"])


def expanded(word, variables):
    """As a kubelet does it: $(NAME) is the value of a variable, $$ is $."""
    def one(found):
        if found.group() == "$$":
            return "$"
        return variables.get(found.group(1), found.group())
    return re.sub(r"\$\$|\$\(([^)]*)\)", one, word)


def main():
    tools, program, manifests, folder, *rest = sys.argv[1:]
    # All is on this machine.
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "*"
    plane = ControlPlane(tools, folder)
    try:
        began = time.monotonic()
        plane.start()
        print(f"control plane ready after {time.monotonic() - began:.1f} s", file=sys.stderr)
        print(json.dumps(carry_out(plane, program, manifests, bool(rest))))
    finally:
        plane.end()


def carry_out(plane, program, manifests, shows_words):
    nodes = Nodes(plane, program)
    created = plane.kubectl("create", "--validate=strict", "-f", manifests)
    if created.returncode:
        raise SystemExit(f"kubectl create: {created.stderr}")
    path = "/apis/batch/v1/namespaces/default/jobs"
    if shows_words:
        [job] = plane.ask("GET", path)["items"]
        [container] = job["spec"]["template"]["spec"]["containers"]
        return [expanded(word, {}) for word in container["args"]]
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        nodes.look()
        jobs = plane.ask("GET", path)["items"]
        if not jobs or {each["type"] for each in jobs[0]["status"].get("conditions", [])} & {"Complete", "Failed"}:
            break
        if select.select([sys.stdin], [], [], 0)[0]:
            happen(sys.stdin.readline().strip(), plane, nodes, jobs[0]["metadata"]["name"])
        time.sleep(0.1)
    else:
        raise SystemExit(f"the job does not end: {jobs}")
    # What has been told to end still says something.
    until(lambda: nodes.look() or all(process.poll() is not None for process in nodes.pods.values()), "all ranks")
    ranks = [{
        "index": index_of(pod),
        "name": pod["metadata"]["name"],
        "node": pod["spec"].get("nodeName"),
        "qos": pod["status"].get("qosClass"),
        "exit": nodes.pods[uid].returncode if uid in nodes.pods else None,
        "stdout": nodes.printed(uid, "stdout") if uid in nodes.pods else "",
        "stderr": nodes.printed(uid, "stderr") if uid in nodes.pods else "",
    } for uid, pod in nodes.known.items()]
    ranks.sort(key=lambda rank: rank["index"])
    return {"created": created.stdout, "job": jobs[0]["status"] if jobs else None, "ranks": ranks, "names": nodes.names}


def happen(event, plane, nodes, job):
    if event == "kill":
        nodes.process_of(2).kill()
    elif event == "delete-pod":
        [name] = [pod["metadata"]["name"] for pod in nodes.known.values() if index_of(pod) == 2]
        plane.kubectl("delete", "pod", name, "--wait=false")
    elif event == "delete-job":
        plane.kubectl("delete", "job", job, "--wait=false")


main()
