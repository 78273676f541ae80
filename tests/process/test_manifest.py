"""The Kubernetes manifest of `ridge size --gpu --manifest`: valid by the schemas of Kubernetes, for every engine, and
as the plan says."""
# ctest: timeout 120

import json
import os
import subprocess

import kubernetes_validate
import pytest
import yaml

RIDGE = os.environ["RIDGE"]
CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
          "num_hidden_layers": 32,
          "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "torch_dtype": "bfloat16"}
MODEL = "meta-llama/Llama-3.1-8B-Instruct"
OLDEST, NEWEST = "1.30", kubernetes_validate.latest_version()


def planned(folder, *options, model=MODEL):
    """(the document, the objects of the manifest)"""
    (folder / "config.json").write_text(json.dumps(CONFIG))
    done = subprocess.run([RIDGE, "size", "config.json", "--model-id", model, "--manifest", "out.yaml", "--json",
                           *options], cwd=folder,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout), list(yaml.safe_load_all((folder / "out.yaml").read_text()))


@pytest.mark.parametrize("engine", ["vllm", "trtllm", "sglang"])
@pytest.mark.parametrize("kv", ["fp16", "fp8"])
def test_valid_for_every_engine_and_as_planned(tmp_path, engine, kv):
    document, objects = planned(tmp_path, "--gpu", "H100 SXM", "--engine", engine, "--kv", kv, "--tp", "2", "--rps",
                                "60", "--tpot-ms", "30")
    for each in objects:
        for version in (OLDEST, NEWEST):
            kubernetes_validate.validate(each, version, strict=True)
    kinds = {each["kind"]: each for each in objects}
    serving, deployment, service = document["serving"], kinds["Deployment"], kinds["Service"]
    pod = deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    assert deployment["spec"]["replicas"] == serving["replicas"] > 1
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 2}
    assert pod["spec"]["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    assert container["image"] == serving["image"] and container["image"].endswith(serving["engine_version"])
    assert (service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
            == deployment["spec"]["selector"]["matchLabels"].items())
    # The launch line's command, with an address that the probes and the service reach.
    words = [*container["command"], *container["args"]]
    assert all(word in words for word in serving["launch"].splitlines()[-1].split() if word != "options.yaml")
    port = words[words.index("--port") + 1]
    assert words[words.index("--host") + 1] == "0.0.0.0"
    assert [port] == [str(each["containerPort"])
                      for each in container["ports"]] == [str(each["port"]) for each in service["spec"]["ports"]]
    # https://kubernetes.io/docs/concepts/security/pod-security-standards/, restricted
    assert (pod["spec"]["securityContext"]["runAsNonRoot"] is True
            and pod["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"})
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert all(volume.keys() - {"name"} <= {"configMap", "emptyDir", "persistentVolumeClaim"}
               for volume in pod["spec"]["volumes"])
    for probe in ("startupProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/health", "port": "http"}
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert (volumes.keys() == mounts.keys() and mounts["shared-memory"] == "/dev/shm"
            and volumes["shared-memory"]["emptyDir"]["medium"] == "Memory")
    if engine == "trtllm" and kv == "fp8":
        options = yaml.safe_load(kinds["ConfigMap"]["data"]["options.yaml"])
        assert options == {"kv_cache_config": {"dtype": "fp8", "free_gpu_memory_fraction": 0.88}}
        assert words[words.index("--extra_llm_api_options") + 1] == f"{mounts['options']}/options.yaml"
        assert volumes["options"]["configMap"]["name"] == kinds["ConfigMap"]["metadata"]["name"]
    else:
        assert "ConfigMap" not in kinds
    assert "Secret" not in kinds and all("value" not in entry or entry["name"] in ("HOME", "USER", "HF_HOME")
                                         for entry in container["env"])


def test_a_path_is_a_claim_and_an_odd_name_a_valid_one(tmp_path):
    _, objects = planned(tmp_path, "--gpu", "L40S", "--concurrency", "4", "--tp", "1", model="/srv/3rd 'Model'_v1.0/")
    for each in objects:
        kubernetes_validate.validate(each, NEWEST, strict=True)
    pod = objects[0]["spec"]["template"]["spec"]
    assert objects[0]["metadata"]["name"] == "llm-3rd--model--v1-0"
    assert {"name": "model", "persistentVolumeClaim": {"claimName": "llm-3rd--model--v1-0-model"}} in pod["volumes"]
    assert "/srv/3rd 'Model'_v1.0/" in pod["containers"][0]["command"]


def test_needs_what_the_engine_loads_and_something_that_serves(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    for options, status, why in ((["--gpu", "T4", "--manifest", "out.yaml"], 2, "--model-id"),
                                 (["--manifest", "out.yaml"], 2, "--gpu"),
                                 (["--gpu", "MI300X", "--tp", "1", "--concurrency", "1", "--model-id", "m",
                                   "--manifest", "out.yaml"], 2, "NVIDIA"),
                                 (["--gpu", "T4", "--tp", "1", "--model-id", "m", "--manifest", "out.yaml"], 1, "")):
        done = subprocess.run([RIDGE, "size", "config.json", *options], cwd=tmp_path, capture_output=True, text=True,
                              timeout=60)
        assert (done.returncode, why in done.stderr) == (status, True), done.stderr
        assert not (tmp_path / "out.yaml").exists()
