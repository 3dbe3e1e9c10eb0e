"""TPC-DS over ACID tables: correctness against DuckDB and flat ORC, and cost as ratios.

Run it as ``python -m tpcds_bench <suite>``. It uses only the public interface of :mod:`acidsql`.
"""
