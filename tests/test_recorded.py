"""Nothing numerical changes by accident: fits give what was recorded."""

import json

import pytest

from recorded.recorder import EXPECTED, configurations, make_data, record

KNOWN = json.loads(EXPECTED.read_text())
CONFIGURATIONS = dict(configurations())


@pytest.fixture(scope="module")
def data():
    return make_data()


def test_every_configuration_is_recorded():
    assert set(KNOWN) == set(CONFIGURATIONS)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_fit_gives_what_was_recorded(name, data):
    found = json.loads(json.dumps(record(CONFIGURATIONS[name], data)))
    expected = KNOWN[name]
    assert found.keys() == expected.keys()
    for part, value in expected.items():
        if isinstance(value, (float, list)):
            assert found[part] == pytest.approx(value, rel=1e-9, abs=1e-12, nan_ok=True), part
        else:
            assert found[part] == value, part
