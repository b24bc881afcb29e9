"""Makes snnbench importable in an environment by a link, not a copy, so that harness and worker are always one version."""

from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree

import snnbench

PACKAGES = ("snnbench", "snnbench.adapters", "snnbench.kernels")

FINDER = '''"""Written by snnbench: where this environment finds snnbench itself."""

import sys
from importlib.util import spec_from_file_location

FOLDERS = {folders!r}


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in FOLDERS:
            return None
        folder = FOLDERS[name]
        return spec_from_file_location(name, folder + "/__init__.py", submodule_search_locations=[folder])


sys.meta_path.append(Finder)
'''


def package_folder(name: str) -> Path:
    """The folder of a package, which is not imported. Raises ModuleNotFoundError."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"no package {name}")
    return Path(spec.origin).resolve().parent


def locations() -> dict[str, str]:
    """The folder of each of snnbench's packages, by its name."""
    return {name: str(package_folder(name)) for name in PACKAGES}


def link(site_packages: Path) -> None:
    """Let `import snnbench` in an environment find the packages that run now, and write metadata with their version."""
    (site_packages / "_snnbench_link.py").write_text(FINDER.format(folders=locations()))
    (site_packages / "_snnbench_link.pth").write_text("import _snnbench_link\n")
    for old in site_packages.glob("snnbench-*.dist-info"):
        rmtree(old)
    metadata = site_packages / f"snnbench-{snnbench.__version__}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: snnbench\nVersion: {snnbench.__version__}\n"
    )
    (metadata / "INSTALLER").write_text("snnbench\n")
