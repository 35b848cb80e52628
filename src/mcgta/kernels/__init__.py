"""Arrays in, arrays out: the numerical work, free of any notion of estimator, position or option.

Every function here states its formula and its contract, and is tested against a slow twin in ``tests/naive.py`` or the equation
that defines it.
"""
