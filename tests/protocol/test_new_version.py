"""A new version beside the old one: shared out by weights, and as a shadow."""

import re

import models
from server import Server, fp32, wait_until

CONFIG = 'version_policy {{ all {{ }} }}\nparameters {{ key: "ridge_traffic" value {{ string_value: "{}" }} }}\n'


def repository_with(folder, weights):
    """Version 1 gives x, version 2 gives 1.25 · x."""
    for version, factor in ((1, 1.0), (2, 1.25)):
        models.scaled(folder / "m" / str(version) / "model.onnx", factor)
    (folder / "m" / "config.pbtxt").write_text(CONFIG.format(weights))
    return folder


def answered_by(server, version=None):
    answer = server.infer("m", {"inputs": [fp32("x", [1, 4], [1.0, 2.0, 3.0, 4.0])]}, version=version).json()
    assert answer["outputs"][0]["data"] == [x * {"1": 1.0, "2": 1.25}[answer["model_version"]]
                                            for x in (1.0, 2.0, 3.0, 4.0)]
    return answer["model_version"]


def test_requests_without_a_version_are_shared_out_by_weights(tmp_path):
    with Server(repository_with(tmp_path, "1:90, 2:10")) as server:
        versions = [answered_by(server) for _ in range(100)]
        assert 8 <= versions.count("2") <= 12
        assert {answered_by(server, version="1") for _ in range(20)} == {"1"}, "who names a version gets it"


def test_a_wrong_list_of_weights_is_refused_by_name(tmp_path):
    with Server(repository_with(tmp_path, "1:90;2:10"), wait_ready=False) as server:
        server.wait_loaded()
        assert "parameter 'ridge_traffic': '1:90;2:10': expected versions with weights" in server.read_log()


def test_a_shadow_is_measured_beside_what_clients_get(tmp_path):
    with Server(repository_with(tmp_path, "1:1, 2:0"), "--shadow=m:2") as server:
        assert {answered_by(server) for _ in range(30)} == {"1"}

        def metric(name):
            found = re.search(rf"^{re.escape(name)} (\S+)$", server.get("/metrics").body.decode(), re.MULTILINE)
            return float(found[1])

        of = 'model="m",version="2"'
        wait_until(lambda: metric(f'ridge_shadow_requests{{{of},result="compared"}}') == 30)
        assert abs(metric(f"ridge_shadow_difference_sum{{{of}}}") / 30 - 0.25) < 1e-6
        assert (metric(f'ridge_shadow_difference_bucket{{{of},le="0.1"}}') == 0
                and metric(f'ridge_shadow_difference_bucket{{{of},le="1"}}') == 30)
        assert (metric(f'ridge_shadow_seconds_count{{{of},by="shadow"}}')
                == metric(f'ridge_shadow_seconds_count{{{of},by="answering"}}') == 30)
        server.stop()
        assert re.search(r"shadow 'm' version 2: 30 answers compared, largest difference 0.25, mean .* beside .*; "
                         r"0 failed, 0 left out", server.read_log())
