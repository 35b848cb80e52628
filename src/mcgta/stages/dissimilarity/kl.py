"""The mean of the two Kullback-Leibler divergences of models, in nats."""

from __future__ import annotations

from mcgta.kernels.gaussians import symmetric_kl
from mcgta.stages.dissimilarity.dissimilarity import Compiled, Dissimilarity
from mcgta.stages.dissimilarity.kind import Kind
from mcgta.stages.dissimilarity.model_parts import by_parts, definite_covariances, embedding_of
from mcgta.stages.local_models import LocalModels


def _build(models: LocalModels, seed: int) -> Dissimilarity:
    packed = by_parts(symmetric_kl.pack, models.means, definite_covariances(models, KL.name))
    work = models.means.shape[1] ** 3 + 10
    comparison = Compiled(symmetric_kl.symmetric_kl_tile, symmetric_kl.symmetric_kl_pairs, work)
    return Dissimilarity(KL.name, (packed,), comparison, embedding_of(models))


KL = Kind("kl", "models", _build, needs_definite=True)
