"""The files of deploy/: they parse, and what they name exists: options, endpoints, ports, commands that tests/paths
runs.

Metrics of the dashboard and of the alerts: Dashboard.* in cli_test.
"""

import json
import os
import pathlib
import re
import subprocess

import models
import pytest
from server import Server

SOURCE = pathlib.Path(os.environ["RIDGE_SOURCE"])
DEPLOY = SOURCE / "deploy"
YAML = "import json, sys, yaml; print(json.dumps([*yaml.safe_load_all(sys.stdin)]))"


def documents(name):
    """By Debian's python3-yaml: the environment of the tests has no YAML."""
    with open(DEPLOY / name) as file:
        return json.loads(subprocess.run(["/usr/bin/python3", "-c", YAML], stdin=file, capture_output=True,
                                         check=True).stdout)


@pytest.fixture(scope="module")
def objects():
    """By their kind."""
    return {one["kind"]: one for name in ("kubernetes.yaml", "kubernetes-prometheus.yaml") for one in documents(name)}


@pytest.fixture(scope="module")
def pod(objects):
    return objects["Deployment"]["spec"]["template"]["spec"]


def test_objects_find_one_another(objects, pod):
    assert {kind: one["apiVersion"] for kind, one in objects.items()} == {
        "Deployment": "apps/v1", "Service": "v1", "HorizontalPodAutoscaler": "autoscaling/v2",
        "PodDisruptionBudget": "policy/v1", "ServiceMonitor": "monitoring.coreos.com/v1"}
    deployment, service, scaler, budget, monitor = objects.values()
    labels = deployment["spec"]["template"]["metadata"]["labels"].items()
    for selector in (deployment["spec"]["selector"]["matchLabels"], service["spec"]["selector"],
                     budget["spec"]["selector"]["matchLabels"]):
        assert selector.items() <= labels
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    target = scaler["spec"]["scaleTargetRef"]
    assert (target["apiVersion"], target["kind"], target["name"]) == (deployment["apiVersion"], "Deployment",
                                                                      deployment["metadata"]["name"])
    assert "replicas" not in deployment["spec"], "the autoscaler's number would be set back at every apply"
    assert budget["spec"]["maxUnavailable"] < scaler["spec"]["minReplicas"] <= scaler["spec"]["maxReplicas"]
    assert all("cpu" in container["resources"]["requests"]
               for container in pod["containers"]), "utilisation is of the request"


def test_the_monitor_reads_the_metrics_port(objects, tmp_path):
    models.identity(tmp_path / "identity" / "1" / "model.onnx")
    (endpoint,) = objects["ServiceMonitor"]["spec"]["endpoints"]
    (port,) = [port for port in objects["Service"]["spec"]["ports"] if port["name"] == endpoint["port"]]
    (container,) = objects["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert port["targetPort"] in [each["name"] for each in container["ports"]]
    with Server(tmp_path) as running:
        answer = running.get(endpoint["path"], port=running.ports["metrics"])
        assert answer.status == 200
        for name in re.findall(r"sum\(([\w:]+)\)", (DEPLOY / "kubernetes.yaml").read_text()):
            assert name.startswith("vllm:") or f"# TYPE {name} " in answer.body.decode(), name


def test_the_probes_of_kubernetes_are_endpoints_of_the_server(pod, tmp_path):
    models.identity(tmp_path / "identity" / "1" / "model.onnx")
    (container,) = pod["containers"]
    with Server(tmp_path) as running:
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert running.get(container[probe]["httpGet"]["path"]).status == 200, probe


def test_a_broken_model_neither_restarts_the_pod_nor_keeps_it_unready(pod, tmp_path):
    models.identity(tmp_path / "identity" / "1" / "model.onnx")
    (tmp_path / "broken" / "1").mkdir(parents=True)
    (tmp_path / "broken" / "1" / "model.onnx").write_text("no model")
    (container,) = pod["containers"]
    options = [argument for argument in container["args"] if argument.startswith("--strict-readiness")]
    with Server(tmp_path, *options) as running:
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert running.get(container[probe]["httpGet"]["path"]).status == 200, probe
        assert running.wait_loaded()["broken"]["state"] == "UNAVAILABLE"
    with Server(tmp_path, wait_ready=False) as running:
        running.wait_loaded()
        assert [running.get(container[probe]["httpGet"]["path"]).status
                for probe in ("startupProbe", "readinessProbe", "livenessProbe")] == [200, 503, 200]


def test_the_pod_fits_the_restricted_profile(pod):
    """https://kubernetes.io/docs/concepts/security/pod-security-standards/"""
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    for volume in pod["volumes"]:
        assert volume.keys() - {"name"} <= {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral",
                                            "persistentVolumeClaim", "projected", "secret"}
    for container in pod["containers"]:
        context = container["securityContext"]
        assert (context["allowPrivilegeEscalation"] is False and context["runAsNonRoot"] is True
                and context["runAsUser"] != 0)
        assert context["capabilities"] == {"drop": ["ALL"]
                                           } and context["seccompProfile"]["type"] in ("RuntimeDefault", "Localhost")
        assert not any("hostPort" in port for port in container["ports"])


def test_options_and_ports_are_those_of_serve(pod):
    (container,) = pod["containers"]
    documented = (SOURCE / "docs/cli/serve.md").read_text()
    for argument in container["args"][2:]:
        assert re.search(f"- `{argument.split('=')[0]}[ `]", documented), argument
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    for name, port in ports.items():
        assert f"default: as HTTP, {port}" in documented or f"(default {port}" in documented, name
    waits = [int(argument.split("=")[1]) for argument in container["args"]
             if argument.startswith(("--exit-timeout-secs=", "--drain-secs="))]
    assert len(waits) == 2 and pod["terminationGracePeriodSeconds"] > sum(waits)
    assert (documents("prometheus.yml")[0]["scrape_configs"][0]["static_configs"][0]["targets"]
            == [f"localhost:{ports['metrics']}"])


def test_rule_files_of_prometheus_exist():
    for name in documents("prometheus.yml")[0]["rule_files"]:
        assert documents(name)[0]["groups"][0]["rules"]


@pytest.mark.parametrize("name", ["ci/github-actions.yml", "ci/gitlab-ci.yml"])
def test_workflows_run_the_commands_of_the_tested_path(name):
    assert documents(name)
    commands = re.findall(r"(?:run: |- )(ridge .*)", (DEPLOY / name).read_text())
    tested = (SOURCE / "tests/paths/ci.sh").read_text()
    assert len(commands) == 4
    for command in commands:
        assert command in tested
