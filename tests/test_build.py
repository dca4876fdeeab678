"""The build: executed, photographed, canonical; or the old file untouched and a message that names the cell."""

from __future__ import annotations

import base64
import io
import sys
import types
from pathlib import Path

import pytest
from nbformat import v4

from tritonlab import build as builder
from tritonlab import notebook

VIEW = """
class View:
    def __init__(self, name):
        self.name = name

    def _repr_mimebundle_(self, **kwargs):
        own = "application/vnd.tritonlab."
        page = {own + "page": f"<p>{self.name}", own + "hash": self.name, own + "module": ["common.js"]}
        widget = {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}}
        return {"text/plain": f"<View {self.name}>"} | (page if os.environ.get("TRITONLAB_PHOTOGRAPH") == "1" else widget)
""".strip()


def png(text: str) -> bytes:
    """A picture that differs with ``text``."""
    from matplotlib.figure import Figure

    figure, file = Figure(figsize=(1, 0.2)), io.BytesIO()
    figure.text(0, 0, text)
    figure.savefig(file, format="png")
    return file.getvalue()


def write(path: Path, *cells: str | tuple[str, str]) -> Path:
    """A notebook that was never run; a cell may be ``(source, tag)``."""
    made = []
    for number, cell in enumerate(cells):
        source, tags = cell if isinstance(cell, tuple) else (cell, "")
        made.append(v4.new_code_cell(source, id=f"cell-{number}", metadata={"tags": tags.split()}))
    path.write_text(notebook.to_text(v4.new_notebook(cells=made)))
    return path


@pytest.fixture
def camera(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Stands for Chromium; the pages of each call."""
    calls: list[list[str]] = []

    def photograph(pages: list[str]) -> list[bytes]:
        calls.append(list(pages))
        return [png(page) for page in pages]

    monkeypatch.setitem(sys.modules, "tritonlab.views.photograph", types.SimpleNamespace(photograph=photograph))
    return calls


def test_a_notebook_is_executed_photographed_and_stored_fit(tmp_path, camera):
    path = write(
        tmp_path / "01_a.ipynb",
        "import os, sys\nprint(repr(os.environ['CUDA_VISIBLE_DEVICES']))",
        VIEW,
        "View('one')",
        ("1 / 0", "raises-exception"),
        ("View('two')", "answer"),
        "print('out'); print('err', file=sys.stderr)",
    )
    assert builder.build(path) is True
    assert notebook.problems(path) == []
    cells = notebook.read(path).cells
    assert [cell.execution_count for cell in cells] == [1, 2, 3, 4, 5, 6]
    assert cells[0].outputs[0].text == "''\n"
    assert cells[2].outputs[0].data == {
        "image/png": notebook.plain_png(base64.b64encode(builder._smaller(png("<p>one"))).decode()),
        "text/plain": "<View one>",
    }
    assert cells[2].outputs[0].metadata.tritonlab == {
        "hash": "one", "look": notebook.module_hash(["common.js"]), "module": ["common.js"],
    }  # fmt: skip
    assert cells[3].outputs[0].ename == "ZeroDivisionError"
    assert cells[4].metadata == {"tags": ["answer"], "jupyter": {"outputs_hidden": True}}
    assert [(o.name, o.text) for o in cells[5].outputs] == [("stdout", "out\n"), ("stderr", "err\n")]
    assert camera == [["<p>one", "<p>two"]]

    # again: nothing changes and no picture is taken twice
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert builder.build(path) is False
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert len(camera) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_names_notebook_cell_and_message_and_leaves_the_file(tmp_path):
    path = write(tmp_path / "01_a.ipynb", "x = 1", "\ny = x +\\\n  'a'\n")
    before = path.read_bytes()
    with pytest.raises(builder.BuildError) as caught:
        builder.build(path)
    assert str(caught.value).startswith('01_a.ipynb, code cell 1 ("y = x +\\") ends in an error:')
    assert "TypeError: unsupported operand" in str(caught.value) and "\x1b" not in str(caught.value)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_cell_that_ends_its_process_is_named(tmp_path):
    path = write(tmp_path / "01_a.ipynb", "x = 1", "import os; os._exit(3)")
    before = path.read_bytes()
    with pytest.raises(builder.BuildError, match=r'code cell 1 \("import os; os._exit\(3\)"\) ended its Python process'):
        builder.build(path)
    assert path.read_bytes() == before


# the steps that need no kernel


def with_page(path: Path):
    """An executed notebook with one page to photograph."""
    nb = notebook.read(write(path, "view"))
    nb.cells[0].execution_count = 1
    data = {builder.PAGE_MIME: "<p>", builder.HASH_MIME: "h", "text/plain": "<View>"}
    nb.cells[0].outputs = [v4.new_output("display_data", data=data)]
    return nb


def test_without_chromium_nothing_is_stored_and_the_message_says_why(tmp_path, monkeypatch):
    def photograph(pages):
        raise RuntimeError("no Chromium on PATH")

    monkeypatch.setitem(sys.modules, "tritonlab.views.photograph", types.SimpleNamespace(photograph=photograph))
    path = tmp_path / "01_a.ipynb"
    with pytest.raises(builder.BuildError, match="(?s)01_a.ipynb: its views .*no Chromium on PATH.*doctor"):
        builder._photograph(with_page(path), path, {})


def test_known_pictures_need_no_chromium(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tritonlab.views.photograph", None)  # importing it fails
    path = tmp_path / "01_a.ipynb"
    nb = with_page(path)
    builder._photograph(nb, path, {"h": "known"})
    assert nb.cells[0].outputs[0].data["image/png"] == "known"


def test_what_is_saved_while_building_is_not_overwritten(tmp_path):
    path = write(tmp_path / "01_a.ipynb", "x = 1")
    before = path.read_bytes()
    nb = notebook.read(path)
    nb.cells[0].execution_count = 1
    nb.metadata["tritonlab"] = {"source": notebook.source_hash(nb)}
    write(path, "x = 2")
    now = path.read_bytes()
    with pytest.raises(builder.BuildError, match="saved by someone else"):
        builder._write(path, notebook.to_text(nb), before)
    assert path.read_bytes() == now


def test_what_is_not_fit_is_not_written(tmp_path):
    path = write(tmp_path / "01_a.ipynb", "x = 1")
    before = path.read_bytes()
    with pytest.raises(builder.BuildError, match="code cell 0 was not run"):
        builder._write(path, before.decode().replace("x = 1", "x = 2"), before)
    assert path.read_bytes() == before


# the command


def fit(path: Path) -> Path:
    nb = notebook.read(write(path, "x = 1"))
    nb.cells[0].execution_count = 1
    nb.metadata["tritonlab"] = {"source": notebook.source_hash(nb)}
    path.write_text(notebook.to_text(nb))
    return path


def test_check_executes_nothing_and_says_what_is_wrong(tmp_path, capsys):
    fit(tmp_path / "01_a.ipynb")
    assert builder.main(["--check"], tmp_path) == 0
    write(tmp_path / "02_b.ipynb", "x = 1")
    assert builder.main(["--check"], tmp_path) == 1
    out, err = capsys.readouterr()
    assert out.count("01_a.ipynb: current") == 2
    assert "02_b.ipynb code cell 0 was not run" in err


def test_format_tidies_prose_edits_and_hides_no_stale_output(tmp_path, capsys):
    path = fit(tmp_path / "01_a.ipynb")
    path.write_text(path.read_text().replace('"name": "python"\n', '"name": "python",\n   "version": "3.12.1"\n'))
    assert builder.main(["--check"], tmp_path) == 1
    assert builder.main(["--format", "1"], tmp_path) == 0
    assert builder.main(["--check"], tmp_path) == 0
    path.write_text(path.read_text().replace("x = 1", "x = 2"))
    assert builder.main(["--format"], tmp_path) == 1
    assert "is stale" in capsys.readouterr().err


def test_an_unknown_chapter_is_an_error_that_lists_those_there_are(tmp_path, capsys):
    fit(tmp_path / "01_a.ipynb")
    with pytest.raises(SystemExit):
        builder.main(["7"], tmp_path)
    assert "'7' means no chapter; there are: 01_a" in capsys.readouterr().err


def test_no_notebooks_at_all_is_an_error(tmp_path, capsys):
    with pytest.raises(SystemExit):
        builder.main(["--check"], tmp_path)
    assert "there are no notebooks" in capsys.readouterr().err
