"""Options of a block of code: set, nested, checked, and known to its threads."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from builders.work import on_threads
from mcgta.runtime.config import Config, config_context, get_config
from mcgta.runtime.memory import budget
from mcgta.runtime.parallel import run


def test_options_hold_within_their_block_only():
    assert get_config() == Config("auto", 0.001, 2000)
    with config_context(max_memory="1GB", table_rows=10) as config:
        assert config == get_config() == Config("1GB", 0.001, 10)
    assert get_config() == Config()


def test_a_nested_block_keeps_the_options_that_it_does_not_name():
    with config_context(max_memory=10**9):
        with config_context(semivariogram_error=0):
            assert get_config() == Config(10**9, 0)
        assert get_config() == Config(10**9)


def test_an_error_within_the_block_gives_the_options_back():
    with pytest.raises(ZeroDivisionError), config_context(table_rows=1):
        raise ZeroDivisionError
    assert get_config() == Config()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_memory": "2G"}, r"^max_memory='2G' is not allowed: max_memory must be 'auto', or a number > 0"),
        ({"max_memory": 0}, "^max_memory=0 is not allowed"),
        ({"semivariogram_error": 2}, r"^semivariogram_error=2 is not allowed: .* a number >= 0 and <= 1$"),
        ({"semivariogram_error": None}, "^semivariogram_error=None is not allowed"),
        ({"table_rows": -1}, "^table_rows=-1 is not allowed: table_rows must be an integer >= 0$"),
        ({"table_rows": 10.0}, r"did you mean 10\?$"),
    ],
)
def test_a_wrong_value_is_refused_by_name_and_changes_nothing(options, said):
    with pytest.raises(ValueError, match=said), config_context(**options):
        pytest.fail("the block ran")
    assert get_config() == Config()


def test_an_unknown_option_is_refused_with_the_nearest_one():
    with pytest.raises(TypeError, match=r"^'max_memroy' is not an option; .* did you mean 'max_memory'\?$"):
        config_context(max_memroy="1GB").__enter__()


def test_the_memory_that_may_be_used_is_that_of_the_options_unless_it_is_given():
    with config_context(max_memory="2kB"):
        assert budget() == 2000
        assert budget(5) == 5


def test_work_on_threads_has_the_options_of_the_block_that_started_it():
    with config_context(table_rows=7):
        seen = on_threads(3, lambda: list(run(lambda _: get_config().table_rows, range(50))))
    assert seen == [7] * 50
    assert set(on_threads(3, lambda: list(run(lambda _: get_config().table_rows, range(50))))) == {2000}


def test_threads_of_the_user_begin_with_the_usual_options():
    with config_context(table_rows=7), ThreadPoolExecutor(1) as pool:
        assert pool.submit(get_config).result() == Config()
