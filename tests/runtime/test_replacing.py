"""Files replaced as a whole: links, special files, modes, and what killed processes leave behind."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys

import pytest

from mcgta import load, read_positions
from mcgta.runtime.replacing import replacing

posix = pytest.mark.skipif(os.name != "posix", reason="modes, links and pipes of POSIX")


@pytest.fixture
def places():
    return read_positions([1.0, 2.0, 4.0], 3)


def write(path, content=b"new"):
    with replacing(path) as file:
        file.write(content)


@posix
def test_a_symbolic_link_is_followed(places, tmp_path):
    target = tmp_path / "elsewhere" / "model"
    target.parent.mkdir()
    target.write_bytes(b"older")
    for name, aim in (("near", target), ("far", tmp_path / "near"), ("new", tmp_path / "elsewhere" / "fresh")):
        link = tmp_path / name
        link.symlink_to(os.path.relpath(aim, tmp_path))
        places.save(link)
        assert link.is_symlink()
        assert len(load(aim)) == 3
    assert sorted(path.name for path in target.parent.iterdir()) == ["fresh", "model"]


@pytest.fixture
def device(tmp_path) -> str:
    """A device that would do no harm were it replaced: the superuser, who could replace /dev/null, gets one of their own."""
    if os.geteuid() != 0:
        return "/dev/null"
    path = tmp_path / "null"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("the superuser may make no devices here")
    return str(path)


def replaced_elsewhere(path: str) -> str:
    """Replace a path in a process of its own; return what it says."""
    code = f"from mcgta.runtime.replacing import replacing\nwith replacing({path!r}) as file: file.write(b'x')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, input="", check=False).stderr


@posix
def test_a_device_is_refused_and_left_alone(device):
    said = replaced_elsewhere(device)
    assert f"path='{device}' is a device" in said
    assert "it must be a regular file, or the name of a new one" in said
    assert stat.S_ISCHR(os.stat(device).st_mode)


@posix
@pytest.mark.parametrize("path", ["/dev/stdin", "/dev/fd/0"])
def test_an_open_stream_is_refused(path):
    said = replaced_elsewhere(path)
    assert f"path='{path}' is a pipe" in said
    assert "it must be a regular file, or the name of a new one" in said


@posix
def test_pipes_sockets_and_folders_are_refused_by_name(places, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for name in ("pipe", "socket", "folder"):
            with pytest.raises(ValueError, match=rf"path='.*{name}' is a {name}; it must be a regular file"):
                places.save(tmp_path / name)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe", "socket"]


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_the_mode_of_an_existing_file_is_kept(places, tmp_path, mode):
    path = tmp_path / "model"
    path.touch()
    path.chmod(mode)
    places.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert len(load(path)) == 3


@posix
def test_a_new_file_has_the_mode_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "model")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o640


@posix
def test_the_content_of_a_private_file_is_private_while_it_is_written(tmp_path):
    path = tmp_path / "model"
    path.touch()
    path.chmod(0o600)
    with replacing(path):
        modes = {stat.S_IMODE(part.stat().st_mode) for part in tmp_path.iterdir()}
    assert modes == {0o600}


KILLED = """
import sys, time
from mcgta.runtime.replacing import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    print("writing", flush=True)
    time.sleep(600)
"""


@posix
def test_what_a_killed_process_left_behind_is_removed_by_the_next_replacement_of_the_same_file(tmp_path):
    command = [sys.executable, "-c", KILLED, str(tmp_path / "model")]
    other = [sys.executable, "-c", KILLED, str(tmp_path / "other")]
    writers = [subprocess.Popen(line, stdout=subprocess.PIPE, text=True) for line in (command, command, other)]
    try:
        for writer in writers:
            assert writer.stdout.readline() == "writing\n"
        for writer in (writers[0], writers[2]):
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        assert len(list(tmp_path.glob(".*.part"))) == 3
        write(tmp_path / "model")
        left = sorted(path.name for path in tmp_path.iterdir() if path.name.endswith(".part"))
        assert len(left) == 2  # of the one still at work, and of another file
        assert f"-{writers[1].pid}-" in left[0]
        assert left[1].startswith(".other.")
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
            writer.stdout.close()
    write(tmp_path / "model", b"newer")
    write(tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "other"]
    assert (tmp_path / "model").read_bytes() == b"newer"


@posix
def test_parts_of_other_machines_are_left_alone(tmp_path):
    foreign = tmp_path / ".model.01234567-999999999-01234567.part"
    foreign.touch()
    write(tmp_path / "model")
    assert foreign.exists()


def test_an_error_leaves_the_older_file_and_nothing_else(tmp_path):
    path = tmp_path / "model"
    write(path, b"older")
    with pytest.raises(TypeError), replacing(path) as file:
        file.writelines([b"half", "not bytes"])
    assert path.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [path]


def test_readers_see_the_older_content_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / "model"
    write(path, b"older")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"older"
    assert path.read_bytes() == b"new"
