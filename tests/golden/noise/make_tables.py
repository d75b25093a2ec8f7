"""Writes the reference of the noise tables beside itself: tests/golden/noise/*.txt. Usage: python3 make_tables.py

Independent of secure/dp/noise: decimal numbers of 130 digits; Skellam by the power series of the Bessel function up to
sigma 40 (beyond that by the continued fraction of its quotients), the discrete Gaussian by exp of each term.

A line is "k tail": the tail P(|X| > k), as the 256 bits behind the point, in hexadecimal, rounded down. Tails end below
2^-132. Of long tables only every 61st line is kept.
"""
import decimal
import pathlib
from decimal import Decimal as D

decimal.getcontext().prec = 130
CASES = [("skellam", "0.0025", 1), ("skellam", "0.25", 1), ("skellam", "2", 1), ("skellam", "64", 1),
         ("skellam", "1600", 1), ("skellam", "1048576", 61), ("gaussian", "0.0025", 1), ("gaussian", "1", 1),
         ("gaussian", "64", 1), ("gaussian", "1600", 1), ("gaussian", "1048576", 61)]


def bessel_series(v):
    """I_k(v) for k = 0, 1, ..."""
    factorials = [D(1)]

    def factorial(n):
        while len(factorials) <= n:
            factorials.append(factorials[-1] * len(factorials))
        return factorials[n]

    half, k = v / 2, 0
    while True:
        term, m = half ** k / factorial(k), 0
        total = term
        while term > total * D(10) ** -125:
            m += 1
            term = term * half * half / (m * (m + k))
            total += term
        yield total
        k += 1


def bessel_quotients(v, last):
    """I_k(v) / I_0(v) for k = 0 .. last, from I_k / I_(k-1) = 1 / (2 k / v + I_(k+1) / I_k)."""
    quotient, quotients = D(0), []
    for k in range(last + 4000, 0, -1):
        quotient = 1 / (2 * k / v + quotient)
        quotients.append(quotient)
    value = D(1)
    yield value
    for quotient in reversed(quotients):
        value *= quotient
        yield value


def weights(kind, variance):
    if kind == "gaussian":
        terms = ((-D(k * k) / (2 * variance)).exp() for k in range(1 << 20))
    elif variance <= 1600:
        terms = bessel_series(variance)
    else:
        terms = bessel_quotients(variance, 24 * int(variance.sqrt()))
    kept = []
    for term in terms:
        kept.append(term)
        if term < kept[0] * D(2) ** -330:
            return kept
    raise ValueError("too few terms")


def write(kind, variance, stride):
    # The double that the C++ side is given, exactly.
    values = weights(kind, D(float(variance)))
    tails, tail = [], D(0)
    for value in reversed(values):
        tails.append(tail)
        tail += 2 * value
    tails.reverse()
    whole = tails[0] + values[0]
    name = pathlib.Path(__file__).parent / f"{kind}_{variance}.txt"
    with open(name, "w", encoding="ascii") as file:
        for k, value in enumerate(tails):
            fraction = value / whole
            if k % stride == 0:
                file.write(f"{k} {int(fraction * 2 ** 256):064x}\n")
            if fraction < D(2) ** -132:
                break


for case in CASES:
    write(*case)
