"""packaging/kubernetes: what the manifests say of each other and of h2d, and the container's steps under their restrictions."""
import glob
import os
import re
import signal

import pytest
import yaml

import procs
import server as srv
from test_89_container import Container, image  # noqa: F401 (fixture)

FOLDER = os.path.join(srv.TOP, "packaging", "kubernetes")
NAME = {"app.kubernetes.io/name": "h2d"}
# readOnlyRootFilesystem, a user that is in no table, and the emptyDir at /run/h2d.
ENTER = """
mount -t tmpfs -o mode=0755 tmpfs /run && mkdir -m 1777 /run/h2d && ip link set lo up
mount --make-rprivate / && mount -o remount,bind,ro / && { ! mountpoint -q /tmp || mount -o remount,bind,ro /tmp; } && (! touch /x) 2>&-
exec setpriv --reuid 1000690000 --regid 0 --clear-groups --no-new-privs --bounding-set -all "$@"
"""


def read(*path):
	with open(os.path.join(FOLDER, *path)) as f:
		return yaml.safe_load(f)


def conf(*path):
	with open(os.path.join(FOLDER, *path, "h2d.conf")) as f:
		return f.read()


def seconds(text, key):
	return int(re.search(r"^%s\s*= (\d+)" % key, text, re.M).group(1))


DEPLOYMENT = read("base", "deployment.yaml")
POD = DEPLOYMENT["spec"]["template"]["spec"]
(H2D,) = POD["containers"]
AUTOSCALER = read("base", "autoscaler.yaml")
CONFS = [("base",), ("overlays", "uploads")]


def test_every_file_is_named():
	"""By the kustomization beside it; what one names is there."""
	for path in glob.glob(os.path.join(FOLDER, "**", "kustomization.yaml"), recursive=True):
		folder = os.path.dirname(path)
		said = read(path)
		named = [*said["resources"], *(p["path"] for p in said.get("patches", [])),
			*(f for g in said.get("configMapGenerator", []) for f in g["files"])]
		assert all(os.path.exists(os.path.join(folder, name)) for name in named), named
		assert {name for name in os.listdir(folder) if name != "kustomization.yaml"} == {n for n in named if "/" not in n}


def test_they_mean_the_same_pods():
	ports = {p["name"]: p["containerPort"] for p in H2D["ports"]}
	assert DEPLOYMENT["spec"]["selector"]["matchLabels"] == DEPLOYMENT["spec"]["template"]["metadata"]["labels"] == NAME
	service, budget = read("base", "service.yaml"), read("base", "disruption.yaml")
	assert service["spec"]["selector"] == NAME and service["spec"]["ports"][0]["targetPort"] in ports
	assert budget["spec"]["selector"]["matchLabels"] == NAME
	assert budget["spec"]["maxUnavailable"] < AUTOSCALER["spec"]["minReplicas"] and "replicas" not in DEPLOYMENT["spec"]
	patch = read("overlays", "uploads", "deployment.yaml")
	assert patch["metadata"] == DEPLOYMENT["metadata"] and patch["spec"]["template"]["spec"]["containers"][0]["name"] == H2D["name"]
	volume = patch["spec"]["template"]["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
	assert read("overlays", "uploads", "claim.yaml")["metadata"]["name"] == volume
	for path in CONFS:
		assert set(re.findall(r'^listen "0\.0\.0\.0:(\d+)"', conf(*path), re.M)) == {str(p) for p in ports.values()}
		assert re.search(r'^listen "0\.0\.0\.0:%d" \{ admin = true \}' % ports["admin"], conf(*path), re.M)


def test_the_autoscaler(h2d):
	"""It scales this Deployment by a metric that the adapter makes of one that h2d has."""
	target, (wanted,) = AUTOSCALER["spec"]["scaleTargetRef"], AUTOSCALER["spec"]["metrics"]
	assert target == {"apiVersion": DEPLOYMENT["apiVersion"], "kind": DEPLOYMENT["kind"], "name": DEPLOYMENT["metadata"]["name"]}
	(rule,) = read("prometheus-adapter.yaml")["rules"]["custom"]
	assert rule["name"]["as"] == wanted["pods"]["metric"]["name"]
	metric = rule["seriesQuery"].partition("{")[0]
	assert re.match(rule["name"]["matches"], metric)
	with h2d(listens=("tcp",)).connect("admin") as c:
		assert re.search(r"^%s\{" % metric, c.get("/metrics").body.decode(), re.M)


def test_there_is_time_to_finish():
	for path in CONFS:
		text = conf(*path)
		assert POD["terminationGracePeriodSeconds"] > seconds(text, "shutdown-delay") + seconds(text, "shutdown-timeout")
		probe = H2D["readinessProbe"]
		assert seconds(text, "shutdown-delay") > probe["periodSeconds"] * probe["failureThreshold"]


def test_the_restricted_profile():
	"""Of the Pod Security Standards."""
	said = H2D["securityContext"]
	assert said == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
	assert POD["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
	assert not any("hostPath" in volume for volume in POD["volumes"])


@pytest.mark.parametrize("path", CONFS, ids="/".join)
def test_a_pod(image, path):  # noqa: F811 (fixture)
	"""It starts under these restrictions, its probes are answered, and preStop and TERM take it out and end it."""
	os.mkdir(os.path.join(image, "www", "files"), 0o777)
	os.chmod(os.path.join(image, "www", "files"), 0o777)
	place = os.path.join(image, "h2d.conf")
	text = conf(*path).replace('"/srv/www"', '"%s"' % os.path.join(image, "www")).replace("1G", "1K")
	with open(place, "w") as f:
		f.write(re.sub(r"(shutdown-delay +=) \d+", r"\1 600", text))
	pod = Container(image, {"H2D_CONF": place}, ENTER)
	port = next(p["containerPort"] for p in H2D["ports"] if p["name"] == "admin")

	def status(of, port=port):
		return pod.init() and pod.run("curl", "-q", "-s", "-o", "/dev/null", "-w", "%{http_code}", "http://127.0.0.1:%d%s" % (port, of)).stdout
	try:
		for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
			procs.wait_for(lambda probe=probe: status(H2D[probe]["httpGet"]["path"]) == "200", 120, 0.1, probe)
		assert status("/", 8080) == "200"
		command = [place if word == "/etc/h2d/h2d.conf" else word for word in H2D["lifecycle"]["preStop"]["exec"]["command"]]
		command[0] = os.path.join(image, "bin", command[0])
		done = pod.run(*command)
		assert done.returncode == 0 and done.stdout.startswith("drained: "), done
		assert status(H2D["readinessProbe"]["httpGet"]["path"]) == "503" and status(H2D["livenessProbe"]["httpGet"]["path"]) == "200"
		for _ in range(2):  # the second one ends the delay, as its time would
			assert status("/", 8080) == "200"
			os.kill(pod.init(), signal.SIGQUIT)
		assert pod.process.wait(4 * procs.DEADLINE) == 0, pod.text()
		assert " error " not in pod.text() and " alert " not in pod.text(), pod.text()
	finally:
		pod.close()
