"""An interrupt at any stage of a fit, an append or a refit leaves the earlier fit whole."""

from __future__ import annotations

import numpy as np
import pytest

from mcgta import MCGTA
from mcgta.datasets import make_series

SERIES = make_series(260, n_clusters=3, segment_lengths=(20, 40), random_state=3)
TIMES = np.arange(260.0)
FIRST = slice(0, 200)
OTHER = slice(60, 260)
NEW = slice(200, 260)

pytestmark = pytest.mark.filterwarnings(
    "ignore:semivariogram. no spherical model fits:UserWarning", "ignore:.*new observations are:UserWarning"
)


def state_of(model):
    """What a user sees of a fit."""
    predicted = model.predict(SERIES.X[NEW], positions=TIMES[NEW], return_probabilities=True)
    return {
        "labels": model.labels_,
        "source": model.labels_source_,
        "choice": str(model.choice_),
        "range": model.semivariogram_.range_,
        "values": model.semivariogram_.values,
        "predicted": predicted[0],
        "strengths": predicted[1],
        "parameters": [model.n_neighbors_, model.min_samples_, model.eps_, model.beta_, model.margin_],
    }


def assert_same(now, before):
    for name, value in before.items():
        np.testing.assert_array_equal(now[name], value, err_msg=name)


def stages_of(call, model):
    """The names of the stages that a call reports, in order."""
    names = []
    model.set_params(progress=lambda name, share: names.append(name))
    call(model)
    return list(dict.fromkeys(names))


def interrupt_at(stage):
    def report(name, share):
        if name == stage:
            raise KeyboardInterrupt

    return report


def fit_first(**params):
    return MCGTA(**params).fit(SERIES.X[FIRST], positions=TIMES[FIRST])


CALLS = {
    "fit": lambda model: model.fit(SERIES.X[OTHER], positions=TIMES[OTHER]),
    "append": lambda model: model.append(SERIES.X[NEW], positions=TIMES[NEW]),
}
ASKED = {"evidence": {}, "radius": {"eps": 0.5, "n_neighbors": 20}, "clusterer": {"refine": "none"}}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("asked", ASKED)
def test_an_interrupt_at_any_stage_leaves_the_earlier_fit_whole(asked, call):
    stages = stages_of(CALLS[call], fit_first(**ASKED[asked]))
    assert len(stages) >= 4
    model = fit_first(**ASKED[asked])
    before = state_of(model)
    fitted = model.fitted_
    for stage in stages:
        model.set_params(progress=interrupt_at(stage))
        with pytest.raises(KeyboardInterrupt):
            CALLS[call](model)
        model.set_params(progress=False)
        assert model.fitted_ is fitted, stage
        assert_same(state_of(model), before)


def test_an_interrupted_refit_leaves_the_fit_whole():
    model = fit_first(eps=0.5, n_neighbors=20)
    before = state_of(model)
    model.set_params(progress=interrupt_at("clustering"))
    with pytest.raises(KeyboardInterrupt):
        model.refit(beta=0.3)
    model.set_params(progress=False)
    assert_same(state_of(model), before)


def test_an_interrupted_prediction_can_be_repeated():
    model = fit_first(eps=0.5, n_neighbors=20)
    expected = fit_first(eps=0.5, n_neighbors=20).predict(SERIES.X[NEW], positions=TIMES[NEW])
    model.set_params(progress=interrupt_at("placing"))
    with pytest.raises(KeyboardInterrupt):
        model.predict(SERIES.X[NEW], positions=TIMES[NEW])
    model.set_params(progress=False)
    np.testing.assert_array_equal(model.predict(SERIES.X[NEW], positions=TIMES[NEW]), expected)


def test_an_interrupted_first_fit_leaves_an_estimator_without_a_fit():
    model = MCGTA(progress=interrupt_at("search"))
    with pytest.raises(KeyboardInterrupt):
        model.fit(SERIES.X[FIRST])
    assert not hasattr(model, "labels_")
