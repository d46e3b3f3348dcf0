"""Measuring: workloads, runs, and what comes out of them."""
