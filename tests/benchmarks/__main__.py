"""``make bench``: what is fast and what is small, measured in one run."""

from tests.benchmarks import (
    bench_bridge,
    bench_endpoint,
    bench_endpoint_test,
    bench_imports,
    bench_ledger,
    bench_load,
    bench_store,
    bench_tokens,
    bench_wheel,
)

BENCHMARKS = (
    bench_endpoint,
    bench_bridge,
    bench_endpoint_test,
    bench_load,
    bench_ledger,
    bench_store,
    bench_tokens,
    bench_imports,
    bench_wheel,
)

for bench in BENCHMARKS:
    print(bench.__name__.rpartition("bench_")[2])  # noqa: T201 - what it is for
    for figure, value in bench.measure().items():
        print(f"  {figure:<60} {value:>12,.3f}")  # noqa: T201
