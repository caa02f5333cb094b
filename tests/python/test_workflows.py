"""Workflows, container image and releases: actions are pinned, jobs have few rights, and names are the project's."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

ROOT: Final = Path(__file__).resolve().parents[2]
WORKFLOWS: Final = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CARGO: Final = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]
PYPROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

WRITERS: Final = {
    ("docs", "publish"): {"pages": "write", "id-token": "write"},
    ("release", "pypi"): {"id-token": "write"},
    ("release", "github"): {"contents": "write"},
    ("release", "image"): {"contents": "read", "packages": "write"},
}
"""Jobs with more rights than to read the sources, and these rights."""

BUILD: Final = {"gcc", "libc6-dev", "libelf-dev", "make", "pkg-config", "python3", "python3-venv", "zlib1g-dev"}
"""Debian packages of README's list."""


def load(path: Path) -> dict[str, Any]:
    """Return a workflow; YAML 1.1 takes its key `on` for a truth value."""
    content: dict[Any, Any] = yaml.safe_load(path.read_text("utf-8"))
    content["on"] = content.pop(True)
    return content


LOADED: Final = {path.stem: load(path) for path in WORKFLOWS}


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for workflow, content in LOADED.items():
        for name, job in content["jobs"].items():
            yield workflow, name, job


def scripts() -> Iterator[str]:
    for _, _, job in jobs():
        for step in job.get("steps", ()):
            yield step.get("run", "")


def release() -> Any:
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def instructions() -> list[str]:
    """Return the Dockerfile's instructions, each on one line."""
    text = re.sub(r"(?m)^#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"))
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def test_there_is_a_workflow_for_tests_wheels_documents_and_releases() -> None:
    assert set(LOADED) == {"docs", "release", "test", "wheels"}


def test_actions_are_pinned_to_a_commit_with_its_version_and_everywhere_to_the_same() -> None:
    pins: dict[str, set[str]] = {}
    for path in WORKFLOWS:
        for used in re.findall(r"uses: (.+)", path.read_text("utf-8")):
            if used.startswith("./"):
                assert (ROOT / used).is_file(), used
                continue
            found = re.fullmatch(r"(actions/[\w-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+", used)
            assert found is not None, f"{path.name}: {used}"
            pins.setdefault(found[1], set()).add(used)
    assert len(pins) >= 5
    assert {name: used for name, used in pins.items() if len(used) > 1} == {}


def test_rights_are_to_read_but_for_the_jobs_that_publish() -> None:
    for workflow, content in LOADED.items():
        assert content["permissions"] == {"contents": "read"}, workflow
    assert {(w, n): job["permissions"] for w, n, job in jobs() if "permissions" in job} == WRITERS
    text = "".join(path.read_text("utf-8") for path in WORKFLOWS)
    assert "secrets." not in text
    assert "pull_request_target" not in text
    checkouts = text.count("uses: actions/checkout@")
    assert text.count("persist-credentials: false") == checkouts


def test_every_job_has_a_limit_of_time_or_calls_a_workflow_that_has() -> None:
    for workflow, name, job in jobs():
        assert ("timeout-minutes" in job) != ("uses" in job), f"{workflow}: {name}"


def test_versions_of_tools_agree() -> None:
    (rust,) = {content["env"]["RUST"] for content in LOADED.values() if "RUST" in content.get("env", {})}
    assert f"FROM rust:{rust.rpartition('.')[0]}-slim-" in (ROOT / "Dockerfile").read_text("utf-8")
    oldest = tuple(map(int, CARGO["rust-version"].split(".")))
    assert tuple(map(int, rust.split(".")))[:2] >= oldest
    (required,) = PYPROJECT["build-system"]["requires"]
    assert required.removeprefix("maturin") in (ROOT / "Dockerfile").read_text("utf-8")
    low, high = (tuple(map(int, bound.split("."))) for bound in re.findall(r"[\d.]+", required))
    assert low <= tuple(map(int, LOADED["wheels"]["env"]["MATURIN"].split("."))) < high


def test_wheels_are_built_for_both_processors_and_each_is_installed() -> None:
    wheels = LOADED["wheels"]["jobs"]
    built = {row["machine"]: row["runner"] for row in wheels["wheel"]["strategy"]["matrix"]["include"]}
    assert set(built) == {"x86_64", "aarch64"}
    assert built["aarch64"].endswith("-arm")
    tried = wheels["install"]["strategy"]["matrix"]["include"]
    assert {row["machine"] for row in tried} == set(built)
    assert all(built[row["machine"]] == row["runner"] for row in tried)
    images = {re.sub(r"^python:(\d\.\d+)-.*$", r"\1", row["image"]) for row in tried}
    named = {line.rpartition(" ")[2] for line in PYPROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", line)}
    assert images == named
    assert PYPROJECT["project"]["requires-python"].removeprefix(">=") in named


def test_wheels_are_compiled_with_a_profile_of_runs_that_are_there() -> None:
    program, script = PYPROJECT["tool"]["maturin"]["pgo-command"].split()
    assert (program, (ROOT / script).is_file()) == ("python", True)
    wheels = LOADED["wheels"]
    steps = [step.get("run", "") for step in wheels["jobs"]["wheel"]["steps"]]
    assert sum("--component llvm-tools" in run for run in steps) == 1
    assert sum("maturin build --pgo " in run for run in steps) == 1
    assert script in wheels["on"]["pull_request"]["paths"]


@pytest.mark.parametrize("job", ["sdist", "wheel"])
def test_archives_and_wheels_have_the_page_of_the_laboratory(job: str) -> None:
    wheels = LOADED["wheels"]["jobs"]
    uploads = [step["with"] for step in wheels["page"]["steps"] if "upload-artifact" in step.get("uses", "")]
    (page,) = [(given["name"], given["path"]) for given in uploads]
    assert "page" in wheels[job]["needs"]
    steps = wheels[job]["steps"]
    taken = [step["with"] for step in steps if "download-artifact" in step.get("uses", "") and "if" not in step]
    assert [(given["name"], given["path"]) for given in taken].count(page) == 1
    assert any("laboratory/index.html" in step.get("run", "") for step in steps)
    assert any(page[1] in entry["path"] for entry in PYPROJECT["tool"]["maturin"]["include"])


def test_the_site_is_not_published_without_the_laboratory() -> None:
    docs = LOADED["docs"]
    steps = [step.get("run", "") for step in docs["jobs"]["build"]["steps"]]
    assert any("make docs" in run and "test -s target/site/html/laboratory/index.html" in run for run in steps)
    assert {"web/**", ".ci/page"} <= set(docs["on"]["pull_request"]["paths"])


def test_the_whole_wheel_is_held_to_the_glibc_of_its_tag() -> None:
    steps = [step.get("run", "") for step in LOADED["wheels"]["jobs"]["wheel"]["steps"]]
    (image,) = re.findall(r"manylinux_2_\d+", LOADED["wheels"]["jobs"]["wheel"]["container"])
    (library,) = [i for i, run in enumerate(steps) if ".ci/lockstep python/narrows/guest" in run]
    (build,) = [
        i for i, run in enumerate(steps) if f"maturin build --pgo --release --locked --compatibility {image} " in run
    ]
    (check,) = [i for i, run in enumerate(steps) if f"auditwheel repair --plat {image}_" in run]
    assert library < build < check


def test_the_library_for_qemu_needs_no_function_that_came_after_the_glibc_of_the_wheel(tmp_path: Path) -> None:
    lacking = [tool for tool in ("cc", "nm") if shutil.which(tool) is None]
    if lacking or sys.platform != "linux":
        pytest.skip(f"{' and '.join(lacking) or 'Linux'} is missing, to build and read a library")
    (floor,) = re.findall(r"manylinux_2_(\d+)", LOADED["wheels"]["jobs"]["wheel"]["container"])
    subprocess.run([ROOT / ".ci" / "lockstep", tmp_path], cwd=ROOT, check=True)
    shown = subprocess.run(
        ["nm", "--dynamic", "--undefined-only", tmp_path / "lockstep.so"], capture_output=True, text=True, check=True
    )
    needed = dict(re.findall(r" U (\w+)@+GLIBC_2\.(\d+)", shown.stdout))
    assert {"dlsym", "syscall"} <= set(needed)
    # glibc 2.34 moved libdl and libpthread into libc, and gave their old functions a new version.
    moved = {name for name in needed if name.startswith(("dl", "pthread_"))}
    assert {name for name, minor in needed.items() if int(minor) > int(floor)} <= moved


def test_scripts_of_the_workflows_name_what_there_is() -> None:
    text = "\n".join((*scripts(), *instructions()))
    targets = set(re.findall(r"(?m)^(\w+):.*## ", (ROOT / "Makefile").read_text("utf-8")))
    named = set(re.findall(r"(?m)^\s*make (\w+)$", text))
    named |= {row["what"] for row in LOADED["test"]["jobs"]["test"]["strategy"]["matrix"]["include"]}
    assert {"setup", "docs", "lint", "test"} <= named <= targets
    files = set(re.findall(r"(?<![\w/])\.ci/[\w.]+", text))
    assert files >= {".ci/guest", ".ci/release.py"}
    assert all((ROOT / name).is_file() for name in files)


def test_the_site_that_is_published_is_the_one_that_make_docs_builds() -> None:
    (folder,) = re.findall(r"(?m)^site_dir: (\S+)$", (ROOT / "mkdocs.yml").read_text("utf-8"))
    steps = LOADED["docs"]["jobs"]["build"]["steps"]
    assert [step["with"]["path"] for step in steps if "upload-pages-artifact" in step.get("uses", "")] == [folder]


def test_packages_are_those_that_readme_names() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    lists = [
        found for page in pages for found in re.findall(r"apt-get install ([a-z][^`#\n]*)", page.read_text("utf-8"))
    ]
    assert BUILD in [set(found.split()) for found in lists]
    source = [
        step["run"] for step in LOADED["wheels"]["jobs"]["install-sdist"]["steps"] if "apt-get" in step.get("run", "")
    ]
    assert set(source[0].replace("\\\n", " ").split()) >= BUILD
    (build, *_) = [line for line in instructions() if "apt-get install" in line]
    assert set(build.split()) >= BUILD
    script = (ROOT / ".ci" / "system").read_text("utf-8")
    groups = re.findall(r"packages\+=\(([^)]+)\)", script)
    assert {name for group in groups for name in group.split()} == BUILD


def test_the_image_is_made_of_what_an_earlier_stage_made() -> None:
    lines = instructions()
    verbs = {line.split()[0] for line in lines}
    assert verbs <= {"ARG", "FROM", "RUN", "WORKDIR", "COPY", "ENV", "USER", "ENTRYPOINT", "CMD"}
    stages = [found[1] for line in lines if (found := re.fullmatch(r"FROM \S+ AS (\w+)", line))]
    assert len([line for line in lines if line.startswith("FROM")]) == len(stages) + 1
    for line in lines:
        if found := re.match(r"COPY --from=(\w+) (\S+)", line):
            assert found[1] in stages
            assert any(f"--out {found[2]}" in other for other in lines)
    last = lines[max(i for i, line in enumerate(lines) if line.startswith("FROM")) :]
    assert any(line.startswith("USER ") and "root" not in line for line in last)
    assert 'ENTRYPOINT ["narrows"]' in last
    named = re.findall(r"(?m)^ARG (\w+)", "\n".join(lines))
    for given in re.findall(r'--build-arg "(\w+)=', "\n".join(scripts())):
        assert given in named


def test_the_image_is_built_without_what_git_ignores() -> None:
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text("utf-8").split()}
    left_out = {line.removeprefix("**/") for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()}
    assert ignored - {"*.pyc", "*.runs"} <= left_out


def test_actionlint_and_shellcheck_find_nothing() -> None:
    lacking = [tool for tool in ("actionlint", "shellcheck") if shutil.which(tool) is None]
    if lacking:
        pytest.skip(f"{' and '.join(lacking)} not in the PATH")
    scripts_of_ci = [str(path) for path in sorted((ROOT / ".ci").iterdir()) if path.suffix == ""]
    for command in (["actionlint", *map(str, WORKFLOWS)], ["shellcheck", *scripts_of_ci]):
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Return the files that a release is checked by, as of a release 7.8.9."""
    (tmp_path / "scenarios" / "digests").mkdir(parents=True)
    page = tmp_path / "packaging/data/share/man/man1/narrows.1"
    page.parent.mkdir(parents=True)
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "7.8.9"\n')
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 7.8.9\n")
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## [7.8.9] - 2026-01-01\n\n### Added\n\n- x\n\n## [7.8.8]\n\n- y\n"
    )
    page.write_text('.TH NARROWS 1 "" "narrows 7.8.9" "User Commands"\n')
    (tmp_path / "scenarios/digests/7.8.9.txt").write_text("")
    return tmp_path


def test_a_release_needs_the_version_everywhere(sources: Path) -> None:
    tool = release()
    assert tool.problems("v7.8.9", sources) == []
    assert tool.notes("7.8.9", sources) == "### Added\n\n- x\n"
    found = tool.problems("v7.8.8", sources)
    assert [problem.partition(":")[0] for problem in found] == [
        "Cargo.toml", "CITATION.cff", "narrows.1", "scenarios/digests/7.8.8.txt",
    ]  # fmt: skip
    assert tool.problems("v1.0", sources) == ["v1.0: is no tag of a release; allowed: vX.Y.Z"]
    (sources / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n")
    assert tool.problems("v7.8.9", sources) == ["CHANGELOG.md: has no section ## [7.8.9], or an empty one"]


def test_this_version_lacks_no_more_than_its_section_of_the_changelog() -> None:
    found = release().problems(f"v{CARGO['version']}")
    assert [problem for problem in found if not problem.startswith("CHANGELOG.md")] == []


@pytest.mark.slow
def test_docker_builds_the_image_where_a_daemon_runs() -> None:
    if shutil.which("docker") is None:
        pytest.skip("docker is not installed")
    if subprocess.run(["docker", "info"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no Docker daemon runs here")
    built = subprocess.run(
        ["docker", "build", "--quiet", "--tag", "narrows-test", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    shown = subprocess.run(
        ["docker", "run", "--rm", "--network", "none", "narrows-test", "verify", "dctcp-marking"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stdout + shown.stderr
