"""Pages say what the result files of the benchmarks say, and a figure that was changed by hand is found."""

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def module_of(path):
    if not path.exists():
        pytest.skip("The tools are not there; a clone of the repository has them.")
    found = importlib.util.spec_from_file_location(f"of_figures_{path.stem}", path)
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def figures():
    return module_of(ROOT / "tools" / "figures.py")


@pytest.fixture(scope="module")
def results():
    return module_of(ROOT / "benchmarks" / "results.py")


@pytest.fixture
def project(results, tmp_path, monkeypatch):
    """Return a folder with one result file and one page that shows it."""
    monkeypatch.setattr(results, "FOLDER", tmp_path / "benchmarks" / "results")
    monkeypatch.setattr(results, "commit", lambda: "0123456789")
    monkeypatch.setattr(sys, "argv", [f"{tmp_path}/benchmarks/speed.py", "--save", f"{tmp_path}/rows.txt"])
    (tmp_path / "benchmarks").mkdir()
    result = results.Result("speed", {"work": "{label}", "time": "{ref:range .1f} ref[[, {gap:.0e}]]"})
    result.add("hinge", label="hinge", ref=results.spread([4.0, 3.5, 6.3]), gap=1e-4)
    result.add("squared", label="squared hinge", ref=results.spread([7.25]))
    result.save()
    (tmp_path / "README.md").write_text(
        "It takes <!-- figure: speed/hinge/ref:.2f -->?<!-- / --> times as long.\n\n"
        "<!-- table: speed -->\n<!-- /table -->\n\n"
        "<!-- table: speed; columns: time; rows: squared -->\n<!-- /table -->\n"
    )
    return tmp_path


def rendered(figures, project):
    page = project / "README.md"
    text = figures.rendered(page.read_text(), figures.Results(project / "benchmarks" / "results"))
    page.write_text(text)
    return text


def check(figures, project):
    return figures.check(figures.Results(project / "benchmarks" / "results"), project)


def test_every_figure_of_the_pages_is_that_of_its_result_file(figures):
    assert figures.check(figures.Results(), ROOT) == []


def test_pages_are_rendered_from_what_was_measured(figures, project):
    assert check(figures, project) != []
    assert rendered(figures, project) == (
        "It takes <!-- figure: speed/hinge/ref:.2f -->4.00<!-- / --> times as long.\n\n"
        "<!-- table: speed -->\n"
        "| work | time |\n| --- | --- |\n| hinge | 3.5 to 6.3 ref, 1e-4 |\n| squared hinge | 7.2 ref |\n"
        "<!-- /table -->\n\n"
        "<!-- table: speed; columns: time; rows: squared -->\n"
        "| time |\n| --- |\n| 7.2 ref |\n"
        "<!-- /table -->\n"
    )
    assert check(figures, project) == []


@pytest.mark.parametrize(
    ("of", "before", "after"),
    [
        ("README.md", "4.00", "3.00"),
        ("README.md", "6.3 ref", "5.3 ref"),
        ("README.md", "| squared hinge | 7.2 ref |\n", ""),
        ("benchmarks/results/speed.json", '"value": 4.0', '"value": 4.1'),
        ("benchmarks/results/speed.json", '"low": 3.5', '"low": 3.25'),
        ("benchmarks/results/speed.json", '"hinge": {', '"hinges": {'),
        ("benchmarks/results/speed.json", '"gap"', '"distance"'),
    ],
)
def test_a_figure_that_was_changed_by_hand_is_found(figures, project, of, before, after):
    rendered(figures, project)
    text = (project / of).read_text()
    assert before in text
    (project / of).write_text(text.replace(before, after, 1))
    assert check(figures, project) != []


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("<!-- figure: speed/hinge/ref -->4<!-- / --> times\n", "begins with"),
        ("- Well,\n  <!-- figure: speed/hinge/ref -->4<!-- / --> times\n", "begins with"),
        ("- <!-- figure: speed/hinge/ref -->4<!-- / --> times\n", "begins with"),
        ("```\nx <!-- figure: speed/hinge/ref -->4<!-- / -->\n```\n", "code block"),
        ("x <!-- figure: speed/hinge/ref -->4 times\n", "no end"),
        ("x <!-- figure: speed/hinge/time -->4<!-- / -->\n", "has no 'time'; it has label, ref, gap"),
        ("x <!-- figure: speed/log/ref -->4<!-- / -->\n", "no row 'log'; it has hinge, squared"),
        ("x <!-- figure: size/log/ref -->4<!-- / -->\n", "no result file size.json; there are speed"),
        ("<!-- table: speed; columns: place -->\n<!-- /table -->\n", "no columns place; it has work, time"),
    ],
)
def test_what_cannot_be_rendered_is_said_in_a_sentence(figures, project, page, sentence):
    (project / "README.md").write_text(page)
    assert any(sentence in line for line in check(figures, project))


def test_a_result_file_names_no_folder_and_says_how_it_was_measured(figures, project):
    rendered(figures, project)
    path = project / "benchmarks" / "results" / "speed.json"
    result = json.loads(path.read_text())
    assert result["command"].endswith("python benchmarks/speed.py --save rows.txt")
    assert result["provenance"] == "measured"
    assert result["versions"]["python"] == sys.version.split()[0]
    assert result["machine"]["cores"] >= 1
    assert str(project) not in path.read_text()
    assert result["rows"]["hinge"]["ref"] == {"value": 4.0, "low": 3.5, "high": 6.3, "repeats": 3}
    path.write_text(path.read_text().replace('"note": ""', '"note": "in /home/ann/work"'))
    assert any("names a folder" in line for line in check(figures, project))


def test_result_files_that_no_page_shows_are_found(figures, project):
    rendered(figures, project)
    folder = project / "benchmarks" / "results"
    shutil.copy(folder / "speed.json", folder / "size.json")
    assert check(figures, project) == ["size.json is shown by no page"]
