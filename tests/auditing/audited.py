"""Mechanisms of every kind that can be audited."""

from __future__ import annotations

MECHANISMS = [
    "krr(k=3, epsilon0=2)",
    "krr(k=2, epsilon0=2)",
    "blh(epsilon0=3, domain_size=4)",
    "blh(epsilon0=3)",
    "olh(epsilon0=2)",
    "rappor(epsilon0=3, domain_size=4)",
    "oue(epsilon0=3, domain_size=12)",
    "unary(p=0.2, q=0.6, domain_size=3)",
    "hadamard(epsilon0=2, domain_size=6)",
    "subset(epsilon0=2, domain_size=6)",
    "subset(epsilon0=4, domain_size=600)",
    "laplace(epsilon0=2)",
    "discrete_laplace(epsilon0=2, bound=5)",
    "gaussian(sigma=1)",
    "matrix([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.1, 0.8, 0.1]])",
    "matrix([[0.5, 0.5, 0], [0, 0.5, 0.5]])",
    "joint(krr(k=3, epsilon0=1), oue(epsilon0=1, domain_size=3))",
    "parallel(0.3*krr(k=3, epsilon0=2), 0.7*blh(epsilon0=1, domain_size=3))",
    "parallel(0.3*krr(k=3, epsilon0=2), 0.7*discrete_laplace(epsilon0=1, bound=2))",
    "one_of(0.3*krr(k=3, epsilon0=2), 0.7*discrete_laplace(epsilon0=1, bound=7))",
    "subsample(krr(k=3, epsilon0=3), rate=0.4)",
    "joint(subsample(krr(k=3, epsilon0=2), rate=0.4), parallel(0.5*krr(k=3, epsilon0=2), "
    "0.5*oue(epsilon0=2, domain_size=3)))",
]
