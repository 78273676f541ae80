"""The Debian package in minimal systems that mmdebstrap makes. ctest: timeout 1800

Only by ./dev package --check, which builds it.
"""

import os
import pathlib
import shutil
import subprocess

import pytest
import trial
from run_path import check_run_path

PACKAGES = os.environ.get("RIDGE_PACKAGES")
DEPS = pathlib.Path(os.environ["RIDGE_DEPS"])
pytestmark = [
    pytest.mark.skipif(not PACKAGES, reason="no packages: ./dev package --check builds and tests them"),
    pytest.mark.skipif(os.geteuid() != 0, reason="not root, which a root folder with its own /proc needs"),
    pytest.mark.skipif(not shutil.which("mmdebstrap"), reason="mmdebstrap is not installed"),
]


def debian_mirror():
    """Where this system's own Debian packages come from."""
    uris = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE) $(REPO_URI) $(ORIGIN) $(CODENAME)",
                           "Created-By: Packages"],
                          capture_output=True, text=True).stdout.splitlines()
    fields = [line.split() for line in uris]
    return next((words[1] for words in fields if words[2:3] == ["Debian"] and "-" not in words[-1]), None)


@pytest.fixture(params=["bookworm", "trixie"])
def system(request, tmp_path):
    """A minimal root of the release with the package installed, and the engines where docs/install.md has them put."""
    mirror = debian_mirror()
    if not mirror:
        pytest.skip("this system's package sources name no Debian mirror")
    root, deb = tmp_path / "root", next(pathlib.Path(PACKAGES).glob("*.deb")).resolve()
    subprocess.run(["mmdebstrap", "-q", "--variant=apt", "--hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount",
                    f"--include={deb}", request.param, root, mirror], check=True)
    packages = root / "opt/ridge/lib/python3/site-packages"
    for library, target in ((next(DEPS.glob("python/lib/python3*/site-packages/onnxruntime/capi")), "onnxruntime/capi"),
                            (DEPS / "openvino/openvino/libs", "openvino/libs")):
        shutil.copytree(library, packages / target, symlinks=True)
    mounts = [(root / name.strip("/"), name) for name in ("/proc", "/sys", "/dev")]
    for at, name in mounts:
        if subprocess.run(["mount", "--rbind", "--make-rslave", name, at]).returncode != 0:
            pytest.skip("this root user may not mount")
    yield root
    for at, _ in mounts:
        subprocess.run(["umount", "--recursive", "--lazy", at], check=True)


def test_the_package_runs_in_a_minimal_system(system):
    ridge = ["chroot", str(system), "env", "HOME=/root", "ridge"]
    (system / "opt/trial").mkdir()
    trial.try_engines(ridge, "/opt/trial")
    trial.try_serving(ridge, "/opt/trial", system / "opt/trial/ports.json")
    assert (system / "usr/lib/systemd/system/ridge.service").read_text().count("ExecStart=/usr/bin/ridge serve ") == 1
    for file in [system / "usr/bin/ridge", *(system / "usr/lib/ridge").iterdir()]:
        check_run_path(file)
    for name in ("LICENSE", "NOTICE", "THIRD-PARTY-NOTICES"):
        assert (system / "usr/share/doc/ridge" / name).is_file()
