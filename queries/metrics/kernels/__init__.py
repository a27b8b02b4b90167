"""The kernels: pure functions of arrays, each with its formula and source."""
