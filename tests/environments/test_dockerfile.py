"""The Dockerfile is checked without a build."""

import re
import shutil
import subprocess
import sys
import tomllib

from support.paths import ROOT

import snnbench
from snnbench.environments.recipes import load_recipes

TEXT = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")


def test_the_installer_of_environments_has_all_that_it_imports(tmp_path):
    """It is copied before the other sources, so that their changes make no environment again."""
    copied = re.findall(r"^COPY (.+) /opt/(installer\S*)$", TEXT, re.MULTILINE)
    assert copied
    for sources, target in copied:
        (tmp_path / target).mkdir(parents=True, exist_ok=True)
        for source in map(ROOT.joinpath, sources.split()):
            if source.is_dir():
                shutil.copytree(source, tmp_path / target, dirs_exist_ok=True)
            else:
                shutil.copy(source, tmp_path / target)
    (imports,) = re.findall(r'python -c "((?:from \S+ import \w+; )+)', TEXT)
    name = next(iter(load_recipes()))
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'installer')!r}); {imports}"
    files = "m.__file__ for name, m in sys.modules.items() if name.startswith('snnbench')"
    code += f"print(named({name!r}).name, *({files}))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    printed, *files = done.stdout.split()
    assert printed == name and files, done.stderr
    assert [file for file in files if not file.startswith(str(tmp_path))] == []


def test_copied_files_exist_and_are_in_the_context():
    allowed = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    for sources in re.findall(r"^COPY (.+) \S+$", TEXT, re.MULTILINE):
        for source in sources.split():
            assert (ROOT / source).exists(), source
            assert any(source == path or source.startswith(f"{path}/") for path in allowed), source


def test_every_folder_that_is_a_package_is_there_when_it_is_installed():
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"][
        "package-dir"
    ].values()
    before = TEXT[: TEXT.index("pip install --no-deps .")]
    assert [folder for folder in packages if f"COPY {folder} {folder}" not in before] == []


def test_the_page_that_it_names_shows_how_to_build_it():
    (page,) = re.findall(r"docs/[a-z-]+\.md", TEXT)
    assert "docker build -t snnbench ." in (ROOT / page).read_text()


def test_the_label_has_the_version_of_snnbench():
    assert re.findall(r'image\.version="([^"]+)"', TEXT) == [snnbench.__version__]


def test_excluded_packages_are_pinned():
    """A renamed package must not get into the image."""
    (left_out,) = re.findall(r"grep -Ev '\^\(#\|torch==\|\((.+)\)==\)'", TEXT)
    pins = re.findall(r"^([^#=\s]+)==", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    for pattern in left_out.split("|"):
        assert any(re.fullmatch(pattern, pin) for pin in pins), pattern
