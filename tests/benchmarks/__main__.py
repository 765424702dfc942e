"""``make bench``: what is fast and what is small, measured in one run."""

from tests.benchmarks import bench_imports, bench_ledger, bench_tokens, bench_wheel

for bench in (bench_ledger, bench_tokens, bench_imports, bench_wheel):
    print(bench.__name__.rpartition("bench_")[2])  # noqa: T201 - what it is for
    for figure, value in bench.measure().items():
        print(f"  {figure:<60} {value:>12,.3f}")  # noqa: T201
