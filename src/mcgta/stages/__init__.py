"""Algorithm 1 of the paper, a file for each stage, each usable on its own.

========================  =====================================================================  =================
file                      what it does                                                           Algorithm 1
========================  =====================================================================  =================
``neighborhoods``         the n nearest observations in position                                 line 2
``local_models``          a Gaussian fitted on each neighbourhood                                line 3
``dissimilarity``         how much two observations differ                                       lines 4-5
``semivariogram``         how much they should differ at their distance, and the range           lines 6-8
``loss``                  dissimilarity plus the hinge penalty of pairs that fail the test       line 9
``clustering``            density-based clustering on the loss                                   line 10
========================  =====================================================================  =================

Beside them: ``covariance`` holds the estimators of the local models, ``lags`` and ``prior`` change what these are fitted
on, and ``shared_neighbors`` tells how much of two neighbourhoods is the same. What has variants is a registry, whose rows
declare what each can do: ``dissimilarity.registry``, ``covariance``, ``semivariogram.models``.
"""
